"""Which role a parameter has, on small models of every kind."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from o2nc.torch import groups


def named(found):
    """The names of the parameters of each group."""
    return {group["name"]: [name for name, _ in group["params"]] for group in found}


def role(model, name):
    """The group of one parameter."""
    (found,) = (group for group, names in named(groups(model)).items() if name in names)
    return found


class Holder(nn.Module):
    """A module with these parts, and an output layer."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, nn.Parameter(torch.zeros(part)) if isinstance(part, tuple) else part)
        self.head = nn.Linear(4, 3)


class Block(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.output = nn.Linear(width, width)  # hidden, as in BERT
        self.heads = nn.ModuleList(nn.Linear(width, 2) for _ in range(2))  # of attention


class Gain(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))


class RMSNormOfMine(Gain):
    pass


class TokenEmbedding(Gain):
    pass


class Linear(Gain):
    """Written by hand."""


class LoRA(nn.Module):
    """As peft wraps a layer: the base is frozen, the factors are layers in dicts."""

    def __init__(self, base, rank=2):
        super().__init__()
        self.base_layer = base.requires_grad_(False)
        self.lora_A = nn.ModuleDict({"default": nn.Linear(base.in_features, rank, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(rank, base.out_features, bias=False)})
        self.lora_embedding_A = nn.ParameterDict({})


LAYERS = {
    "linear": (nn.Linear(4, 5), ["weight"]),
    "one output": (nn.Linear(4, 1), ["weight"]),
    "long": (nn.Linear(4, 99), ["weight"]),  # with the shape of a table
    "bilinear": (nn.Bilinear(3, 4, 5), ["weight"]),
    "two": (nn.Conv2d(1, 2, 3), ["weight"]),
    "three": (nn.Conv3d(1, 2, 3), ["weight"]),
    "transposed": (nn.ConvTranspose2d(4, 2, 3), ["weight"]),
    "lstm": (nn.LSTM(3, 4, proj_size=2), ["weight_ih_l0", "weight_hh_l0", "weight_hr_l0"]),
    "gru": (nn.GRU(3, 4, bidirectional=True), [f"weight_{a}h_l0{b}" for b in ("", "_reverse") for a in "ih"]),
    "one unit": (nn.GRU(1, 1), ["weight_ih_l0", "weight_hh_l0"]),
    "cell": (nn.LSTMCell(3, 4), ["weight_ih", "weight_hh"]),
    "by hand": (Linear(5, 4), ["weight"]),
    "long by hand": (Linear(99, 4), ["weight"]),
    "weight norm": (weight_norm(nn.Linear(4, 5)), ["parametrizations.weight.original1"]),
    "spectral norm": (spectral_norm(nn.Conv2d(4, 5, 3)), ["parametrizations.weight.original"]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_weights_of_layers_are_matrices_and_the_rest_are_vectors(name):
    layer, matrices = LAYERS[name]
    found = named(groups(Holder(layer=layer)))
    assert found["matrices"] == [f"layer.{each}" for each in matrices]
    others = {n for n, _ in layer.named_parameters()} - set(matrices)
    assert set(found["vectors"]) == {f"layer.{n}" for n in others} | {"head.bias"}


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
def test_weight_norm_of_before():
    found = named(groups(Holder(layer=nn.utils.weight_norm(nn.Linear(4, 5, bias=False)))))
    assert (found["matrices"], found["vectors"]) == (["layer.weight_v"], ["layer.weight_g", "head.bias"])


@pytest.mark.parametrize("layer", [nn.Conv1d(2, 3, 5), nn.ConvTranspose1d(2, 3, 5)], ids=repr)
def test_convolutions_in_one_dimension_are_no_stacks(layer):
    flat, *rest = groups(Holder(layer=layer, other=nn.Conv2d(1, 2, 3)))[1:]
    assert (flat["name"], [n for n, _ in flat["params"]]) == ("matrices flat", ["layer.weight"])
    assert flat["stacks"] is False
    assert flat["matrices"] is True
    assert not any("stacks" in group for group in rest)


def test_attention_is_split_by_itself():
    found = groups(Holder(attention=nn.MultiheadAttention(4, 2, add_bias_kv=True)))
    assert named(found) == {
        "matrices": ["attention.out_proj.weight"],
        "matrices split 3": ["attention.in_proj_weight"],
        "heads": ["head.weight"],
        "vectors": [
            *("attention.in_proj_bias", "attention.bias_k", "attention.bias_v", "attention.out_proj.bias", "head.bias")
        ],
    }
    assert [group.get("split") for group in found] == [None, 3, None, None]
    apart = Holder(attention=nn.MultiheadAttention(4, 2, kdim=3, vdim=5, bias=False))
    weights = ["q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"]
    assert named(groups(apart))["matrices"] == [f"attention.{weight}" for weight in weights]


# Parameters of a module's own: (name, shape) and the role.
OWN = {
    ("pos_embed", (7, 4)): "embeddings",
    ("positional_embedding", (7, 4)): "embeddings",
    ("position_embeddings", (1, 7, 4)): "embeddings",
    ("position_embedding_table", (2, 7, 4)): "embeddings",
    ("relative_position_bias_table", (9, 2)): "embeddings",
    ("rel_pos_w", (9, 4)): "embeddings",
    ("wpe", (9, 4)): "embeddings",
    ("cls_token", (1, 1, 4)): "embeddings",
    ("latents", (9, 4)): "embeddings",
    ("query", (1, 9, 4)): "embeddings",  # by its first axis
    ("states", (64, 4)): "embeddings",  # by its shape
    ("query_weight", (4, 4)): "matrices",
    ("w_in", (4, 16)): "matrices",
    ("w_out", (16, 4)): "matrices",
    ("post_norm_mix", (4, 4)): "matrices",  # no position
    ("transposed", (4, 4)): "matrices",
    ("text_projection", (4, 4)): "matrices",
    ("gate_up_proj", (3, 8, 4)): "matrices",
    ("lora_B", (64, 4)): "matrices",
    ("gate_up_proj_bias", (3, 8)): "vectors",
    ("r_w_bias", (2, 4)): "vectors",
    ("A_log", (8, 4)): "vectors",
    ("head_scale", (3, 4)): "vectors",
    ("time_mix", (1, 1, 4)): "vectors",
    ("layer_scale", (4, 1, 1)): "vectors",
    ("gamma", (4,)): "vectors",
    ("temperature", ()): "vectors",
}


@pytest.mark.parametrize(("name", "shape"), OWN, ids=str)
def test_parameters_of_other_modules_go_by_name_and_shape(name, shape):
    assert role(Holder(**{name: shape}), name) == OWN[name, shape]
    inner = Holder(inner=Holder(**{name: shape}))
    assert role(inner, f"inner.{name}") == OWN[name, shape]


def test_a_list_of_parameters_has_the_name_of_the_list():
    model = Holder(
        prompts=nn.ParameterList([torch.zeros(5, 4)]),
        mixes=nn.ParameterList([torch.zeros(5, 4)]),
        lora_embedding_A=nn.ParameterDict({"default": torch.zeros(2, 9)}),
    )
    assert role(model, "prompts.0") == role(model, "lora_embedding_A.default") == "embeddings"
    assert role(model, "mixes.0") == "matrices"


def test_tables_written_by_hand_and_bags_are_embeddings():
    model = Holder(token=TokenEmbedding(7, 4), embed=Linear(7, 4), bag=nn.EmbeddingBag(7, 4), plain=Linear(7, 4))
    found = named(groups(model))
    assert found["embeddings"] == ["token.weight", "embed.weight", "bag.weight"]
    assert found["matrices"] == ["plain.weight"]


def test_all_parameters_of_norms_are_vectors():
    norms = [nn.LayerNorm((2, 4)), nn.GroupNorm(2, 4), nn.BatchNorm2d(4), RMSNormOfMine(3, 4)]
    model = Holder(norms=nn.ModuleList(norms))
    found = groups(model, weight_decay=0.1)
    assert set(named(found)["vectors"]) == {f"norms.{n}" for n, _ in model.norms.named_parameters()} | {"head.bias"}
    assert {group["name"]: group["weight_decay"] for group in found} == {"heads": 0.1, "vectors": 0.0}


def test_tied_weights_are_once_as_embeddings():
    for order in (("table", "head"), ("head", "table")):
        parts = {"table": nn.Embedding(7, 4), "head": nn.Linear(4, 7, bias=False)}
        model, hidden = nn.Module(), nn.Linear(4, 4)
        for name in order:
            setattr(model, name, parts[name])
        model.hidden = hidden  # the last, and no output layer: there is one by name
        model.head.weight = model.table.weight
        expected = {"matrices": ["hidden.weight"], "embeddings": [f"{order[0]}.weight"], "vectors": ["hidden.bias"]}
        assert named(groups(model)) == expected


# The names of the output layers of a model.
def model_of(**parts):
    model = nn.Module()
    for name, part in parts.items():
        setattr(model, name, part)
    return model


def mlp(*widths):
    return nn.Sequential(*(nn.Linear(a, b, bias=False) for a, b in pairwise(widths)))


HEADS = {
    "by name, though not last": (lambda: model_of(lm_head=nn.Linear(4, 9), fc=nn.Linear(4, 4)), ["lm_head"]),
    "the last": (lambda: mlp(3, 4, 5), ["1"]),
    "the last in parts": (lambda: model_of(encoder=mlp(5, 4, 3), decoder=mlp(3, 4, 5)), ["decoder.1"]),
    "the last in nested sequences": (lambda: nn.Sequential(mlp(3, 4), mlp(4, 4), mlp(4, 2)), ["2.0"]),
    "after blocks": (lambda: nn.Sequential(Block(), Block(), nn.Linear(4, 2)), ["2"]),
    "a convolution": (lambda: nn.Sequential(nn.Linear(4, 4), nn.Conv2d(3, 3, 3), nn.Conv2d(3, 2, 1)), ["2"]),
    "one layer": (lambda: nn.Linear(3, 1), [""]),
    "by hand": (lambda: nn.Sequential(Linear(3, 3), Linear(2, 3)), ["1"]),
    "the last of a classifier": (lambda: model_of(features=mlp(3, 3), classifier=mlp(4, 4, 4, 2)), ["classifier.2"]),
    "several": (
        lambda: model_of(body=mlp(4, 4), class_head=mlp(4, 4, 3), box_head=mlp(4, 4, 4), last=nn.Linear(4, 4)),
        ["class_head.1", "box_head.1"],
    ),
    "a list": (
        lambda: model_of(body=mlp(4, 4), heads=nn.ModuleList([mlp(4, 4, 3), mlp(4, 2)])),
        ["heads.0.1", "heads.1.0"],
    ),
    "a dict": (lambda: model_of(body=mlp(4, 4), heads=nn.ModuleDict({"a": nn.Linear(4, 2)})), ["heads.a"]),
    "none in a block": (lambda: model_of(first=mlp(4, 4), layers=nn.ModuleList([Block()])), []),
    "none in a sequence of blocks": (lambda: model_of(first=mlp(4, 4), layers=nn.Sequential(Block(), Block())), []),
    "none in attention": (lambda: model_of(first=mlp(4, 4), last=nn.MultiheadAttention(4, 2)), []),
    "none after a recurrent layer": (lambda: nn.Sequential(nn.Linear(3, 3), nn.LSTM(3, 4)), []),
    "weight norm": (lambda: nn.Sequential(nn.Linear(3, 3), weight_norm(nn.Linear(3, 2))), ["1"]),
}


@pytest.mark.parametrize("name", HEADS)
def test_output_layers(name):
    make, expected = HEADS[name]
    ends = (".weight", ".parametrizations.weight.original1")
    full = {f"{each}{end}".removeprefix(".") for each in expected for end in ends}
    model = make()
    assert set(named(groups(model)).get("heads", [])) == full & {n for n, _ in model.named_parameters()}


def test_an_output_parameter():
    model = model_of(body=mlp(4, 4))
    model.lm_head = nn.Parameter(torch.zeros(4, 9))
    assert named(groups(model)) == {"matrices": ["body.0.weight"], "heads": ["lm_head"]}


def test_factors_of_lora_are_matrices():
    """Also those of the output layer, and none of them is the last layer."""
    model = model_of(embed=nn.Embedding(9, 4).requires_grad_(False), query=LoRA(nn.Linear(4, 4)))
    factors = [f"{{}}.lora_{factor}.default.weight" for factor in "AB"]
    assert named(groups(model)) == {"matrices": [each.format("query") for each in factors]}
    model.lm_head = LoRA(nn.Linear(4, 99))
    assert named(groups(model)) == {"matrices": [each.format(n) for n in ("query", "lm_head") for each in factors]}
    model.requires_grad_(True)
    assert named(groups(model))["heads"] == ["lm_head.base_layer.weight"]


def test_frozen_parameters_are_left_out_and_no_other_layer_takes_their_role():
    model = mlp(4, 4, 4, 2)
    model[2].requires_grad_(False)
    assert named(groups(model)) == {"matrices": ["0.weight", "1.weight"]}


def test_transformers():
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 16, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    llama = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**sizes, intermediate_size=12, num_key_value_heads=2, tie_word_embeddings=False)
    )
    found = named(groups(llama))
    assert {name.split(".")[-2] for name in found["matrices"]} == {
        *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    }
    assert found["embeddings"] == ["model.embed_tokens.weight"]
    assert found["heads"] == ["lm_head.weight"]
    assert all("norm" in name for name in found["vectors"])
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    gpt = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=16, n_embd=8, n_layer=2, n_head=2, n_positions=4, **ends)
    )
    found = named(groups(gpt))
    assert {name.split(".", 3)[-1] for name in found["matrices"]} == {
        *("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    }
    assert found["embeddings"] == ["transformer.wte.weight", "transformer.wpe.weight"]  # the head is tied
    assert set(found) == {"matrices", "embeddings", "vectors"}
    bert = transformers.BertForSequenceClassification(transformers.BertConfig(**sizes, intermediate_size=16))
    found = named(groups(bert))
    assert found["heads"] == ["classifier.weight"]
    assert len(found["embeddings"]) == 3
    assert len(found["matrices"]) == 2 * 6 + 1  # with the pooler
    vit = transformers.ViTForImageClassification(
        transformers.ViTConfig(**sizes, intermediate_size=16, image_size=4, patch_size=2)
    )
    found = named(groups(vit))
    assert found["heads"] == ["classifier.weight"]
    assert {name.split(".")[-1] for name in found["embeddings"]} == {"cls_token", "position_embeddings"}
    assert "vit.embeddings.patch_embeddings.projection.weight" in found["matrices"]


BIASES = ["b", "b1", "b2", "fc_b", "b_up", "bias", "biases"]


@pytest.mark.parametrize("name", BIASES)
def test_biases_of_stacked_experts_are_vectors(name):
    """Of shape (experts, width), beside a stack of so many matrices."""
    for width in (16, 8):
        assert role(Holder(w=(4, 8, 16), **{name: (4, width)}), name) == "vectors"


def test_what_is_no_bias_of_a_stack_is_none():
    """A router, factors of LoRA, and a matrix without a stack."""
    assert role(Holder(w1=(4, 8, 16), gate=(4, 8)), "gate") == "matrices"
    assert role(Holder(lora_A=(4, 8, 2), lora_B=(4, 2)), "lora_B") != "vectors"
    assert role(Holder(b=(8, 6)), "b") == "matrices"
