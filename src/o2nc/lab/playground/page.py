"""The page of `o2nc play`: widgets around the rounds of two methods. It needs the extra ``play``."""

import html
import socket
from collections.abc import Callable
from typing import Any

import panel as pn

from ...registry import Registry
from ..compare.oracles import operator_sets
from .landscapes import registry as landscapes
from .methods import Method, Settings, has_own_step, losses, playable, players, tunings
from .noise import PLACES, Noise, laws
from .pictures import COLOURS, Charts, Map, Run, heights
from .program import code
from .rounds import Rounds, radius, run

HOST = "127.0.0.1"  # the page is for this machine alone
FRAMES = 120  # of a film of a run, at most
STYLE = """
body { margin: 0; font-family: system-ui, sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 8px 14px 40px; }
"""
# The colours are chosen when the page is made, so the browser says which are wanted by the address.
TEMPLATE = f"""
{{% extends base %}}
{{% block postamble %}}
<meta name="viewport" content="width=device-width, initial-scale=1">
<script>
if (matchMedia("(prefers-color-scheme: dark)").matches && !location.search) location.replace("?theme=dark")
</script>
<style>{STYLE}</style>
{{% endblock %}}
{{% block contents %}}<main>{{{{ embed(roots.play) }}}}</main>{{% endblock %}}
"""
MONOSPACE = "textarea { font-family: ui-monospace, monospace; font-size: 12px; opacity: 1 }"
COPY = """
navigator.clipboard.writeText(text.value)
button.label = "Copied"
setTimeout(() => { button.label = "Copy as Python" }, 1500)
"""
NOTHING = "# neither method can be run with these settings\n"
STEPS = [float(f"{10 ** (k / 10):.2g}") for k in range(-30, 11)]
FIRST = {
    "A": Method(oracle="adahedge", loss="prediction"),
    "B": Method(oracle="constant"),
}


class Controls:
    """The widgets of one method."""

    def __init__(self, name: str, first: Method, changed: Callable[[Any], None]) -> None:
        self.conversion = _select("conversion", playable(), first.conversion)
        self.constants = _select("constants", tunings, first.constants)
        self.step = pn.widgets.DiscreteSlider(label="step", options=STEPS, value=first.step, formatter="%.3g")
        self.loss = _select("loss", losses, first.loss)
        self.kappa = pn.widgets.FloatSlider(label="kappa", value=first.kappa, start=0.0, end=16.0, step=0.25)
        self.oracle = _select("oracle", players(), first.oracle)
        self.set = _select("set", operator_sets(), first.set)
        self.rate = pn.widgets.FloatInput(label="rate (empty: its own)", value=first.rate, start=0.0)
        self.sentence = pn.pane.Alert("", alert_type="danger", visible=False, sizing_mode="stretch_width")
        self.certificate = pn.pane.HTML("", sizing_mode="stretch_width")
        self.name = name
        self._dress(None)
        self.conversion.param.watch(self._dress, "value")
        for widget in self.widgets:
            widget.sizing_mode = "stretch_width"
            widget.param.watch(changed, "value")

    @property
    def widgets(self) -> list[Any]:
        """All of them, in the order of the page."""
        own = (self.conversion, self.oracle, self.set, self.rate, self.loss, self.kappa, self.constants, self.step)
        return list(own)

    @property
    def method(self) -> Method:
        """What they say."""
        return Method(
            conversion=self.conversion.value,
            constants=self.constants.value,
            step=self.step.value,
            loss=self.loss.value,
            kappa=self.kappa.value,
            oracle=self.oracle.value,
            set=self.set.value,
            rate=self.rate.value,
        )

    def tell(self, found: Rounds | str) -> None:
        """Show the certificate of a run, or the sentence why there is no run."""
        self.sentence.param.update(object=found if isinstance(found, str) else "", visible=isinstance(found, str))
        self.certificate.object = "" if isinstance(found, str) else _answers(found)

    def _dress(self, event: Any) -> None:
        """Name the step as the conversion means it."""
        is_own = has_own_step(self.conversion.value)
        self.step.label = "step" if is_own else "step / theorem's"
        if event is not None and is_own != has_own_step(event.old):
            self.step.value = 0.01 if is_own else 1.0


class Page:
    """One visitor's page."""

    def __init__(self, is_dark: bool) -> None:
        self.is_dark = is_dark
        self.landscape = _select("landscape", landscapes, "f1")
        self.law = _select("noise", laws, "signs")
        self.sigma = pn.widgets.FloatSlider(label="sigma", value=2.0, start=0.0, end=10.0, step=0.1)
        self.on = pn.widgets.Select(label="noisy coordinates", value="second", options=list(PLACES))
        self.T = pn.widgets.IntSlider(label="rounds T", value=200, start=10, end=1000, step=10)
        self.seed = pn.widgets.IntSlider(label="seed", value=0, start=0, end=50)
        self.shared = [self.landscape, self.law, self.sigma, self.on, self.T, self.seed]
        self.controls = {name: Controls(name, first, self.changed) for name, first in FIRST.items()}
        self.runs = {name: Run() for name in FIRST}
        f = self.settings.f
        self.maps = {name: Map(name, each, f, is_dark) for name, each in self.runs.items()}
        self.charts = Charts(self.runs)
        self.drawn = self.landscape.value
        self.player = pn.widgets.Player(
            label="round", start=1, end=self.T.value, value=1, interval=40, show_loop_controls=False, show_value=False,
            visible_buttons=["first", "previous", "pause", "play", "next", "last"], sizing_mode="stretch_width",
        )  # fmt: skip
        self.start = pn.widgets.Button(label="Run", color="primary", width=110)
        self.copy = pn.widgets.Button(label="Copy as Python", width=150)
        self.text = pn.widgets.TextAreaInput(
            rows=16, max_length=20_000, disabled=True, sizing_mode="stretch_width", stylesheets=[MONOSPACE]
        )
        self.waiting = False
        for widget in self.shared:
            widget.param.watch(self.changed, "value")
        self.player.param.watch(lambda event: self.show(), "value")
        self.start.on_click(self.film)
        self.copy.js_on_click(args={"text": self.text, "button": self.copy}, code=COPY)
        self.refresh()
        pn.state.onload(self.end)  # not before: the browser would draw a slider at 100 at most

    @property
    def settings(self) -> Settings:
        """What the widgets that both methods share say."""
        noise = Noise(self.law.value, self.sigma.value, self.on.value)
        return Settings(self.landscape.value, noise, self.T.value, self.seed.value)

    def changed(self, event: Any) -> None:
        """Compute once after all changes that have arrived: a slider that is dragged sends many."""
        if pn.state.curdoc is None:
            self.refresh()
        elif not self.waiting:
            self.waiting = True
            pn.state.curdoc.add_next_tick_callback(self.refresh)

    def refresh(self) -> None:
        """Run both methods and draw them, in one message to the browser."""
        self.waiting = False
        settings, methods = self.settings, {}
        with pn.io.hold():
            for name, controls in self.controls.items():
                try:
                    found: Rounds | str = run(settings, controls.method)
                    methods[name] = controls.method
                except (ValueError, TypeError, ArithmeticError) as error:
                    found = str(error)
                self.runs[name].set(None if isinstance(found, str) else found)
                controls.tell(found)
            self.text.value = code(settings, methods) if methods else NOTHING
            if self.drawn != settings.landscape:
                self.drawn, contours = settings.landscape, heights(settings.f)
                for each in self.maps.values():
                    each.set(settings.f, contours)
            self.charts.set(settings.T)
            if self.player.end != settings.T:
                self.player.param.update(end=settings.T, step=max(1, settings.T // FRAMES))
                self.end()
            self.show()

    def show(self) -> None:
        """Draw the rounds up to that of the player."""
        with pn.io.hold():
            self.player.label = f"round {self.player.value} of {self.T.value}"
            for each in self.runs.values():
                each.show(self.player.value, radius(self.settings.f))

    def end(self) -> None:
        """Go to the last round."""
        self.player.value = self.T.value

    def film(self, event: Any) -> None:
        """Play the rounds from the first."""
        self.player.value = 1
        self.player.direction = 1

    def _drawn(self, figure: Any) -> pn.pane.Bokeh:
        return pn.pane.Bokeh(figure)

    def layout(self) -> pn.viewable.Viewable:
        """All of it, in one column on a phone."""
        wide = {"sizing_mode": "stretch_width"}
        columns = [
            pn.Column(
                pn.pane.HTML(f'<h2 style="color: {COLOURS[name]}; margin: 0">Method {name}</h2>'),
                controls.sentence,
                _flow(self._drawn(self.maps[name].figure), pn.Column(*controls.widgets), basis=(330, 200)),
                controls.certificate,
                **wide,
            )
            for name, controls in self.controls.items()
        ]
        return pn.Column(
            pn.pane.HTML(HEAD, **wide),
            _flow(*self.shared, basis=150),
            pn.Row(self.start, self.player, **wide),
            _flow(*columns, basis=330),
            _flow(*map(self._drawn, self.charts.figures), basis=300),
            pn.Card(self.copy, self.text, title="The same as a program", **wide),
            **wide,
        )


HEAD = """
<h1 style="margin: 0.2em 0 0">o2nc play</h1>
<p style="margin: 0.2em 0 0.6em">Two methods on one landscape with the same noise. The filled ellipse
at the point is what the operator U<sub>t</sub> makes of a disk. P keeps the coordinate without noise. A certificate
bounds the mean over runs; this is one run.</p>
"""


def page() -> pn.Template:
    """A page for a visitor."""
    is_dark = pn.config.theme == "dark"
    template = pn.Template(TEMPLATE, theme=pn.theme.DarkTheme if is_dark else pn.theme.DefaultTheme)
    template.add_panel("play", Page(is_dark).layout())
    return template


def server(port: int = 0) -> Any:
    """The server of the page on this machine, which is not started; port 0 takes a free one."""
    with socket.create_server((HOST, port)):  # raises if it is taken
        pass
    pn.extension()
    return pn.io.server.get_server(page, port=port, address=HOST, title="o2nc play", start=False)


def _select(name: str, registry: Registry, value: str) -> pn.widgets.Select:
    options = {f"{key}: {entry.words}": key for key, entry in registry.items()}
    return pn.widgets.Select(label=name, options=options, value=value)


def _flow(*children: Any, basis: int | tuple[int, ...]) -> pn.FlexBox:
    """The children side by side where there is room for their widths, else below each other."""
    widths = (basis,) * len(children) if isinstance(basis, int) else basis
    for child, width in zip(children, widths, strict=True):
        flex = {"flex": f"{width} 1 {width}px", "min-width": "0"}
        child.param.update(sizing_mode="stretch_width", width=None, styles=flex)
    return pn.FlexBox(*children, sizing_mode="stretch_width", gap="4px 10px")


def _answers(found: Rounds) -> str:
    result = found.result
    certificate = result.certificate
    if certificate is None:
        first = f"no certificate: {html.escape(result.reason)}."
    else:
        first = f"certificate <b>{certificate.bound:.4g}</b> ({certificate.label})"
    table = "\n\n".join(str(each) for each in (certificate, result.tight, result.a_priori) if each is not None)
    more = f"<details><summary>term by term</summary><pre>{html.escape(table)}</pre></details>" if table else ""
    return f"<p>{found.name} <b>{found.measured[-1]:.4g}</b>; {first}</p>{more}"
