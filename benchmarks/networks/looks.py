"""How methods look in figures."""

LOOKS = {
    "hedged": {"color": "black", "lw": 2.5, "marker": "o", "zorder": 5},
    "equal": {"color": "black", "ls": "--"},
    "muon alone": {"color": "tab:red", "ls": "--"},
    "soap alone": {"color": "tab:green", "ls": "--"},
    "learned": {"color": "black", "lw": 2, "ls": ":"},
    "learned constant": {"color": "tab:gray", "lw": 2, "ls": ":"},
    "learned start": {"color": "tab:pink", "ls": ":"},
    "adamw": {"color": "tab:blue"},
    "muon": {"color": "tab:red"},
    "soap": {"color": "tab:green"},
    "schedule-free": {"color": "tab:purple"},
    "prodigy": {"color": "tab:brown", "ls": ":"},
    "mechanic": {"color": "tab:orange", "ls": ":"},
    "dog": {"color": "tab:cyan", "ls": ":"},
    "sgd10": {"color": "tab:olive"},
}
