"""Feature maps, and weights that are exactly those of the file or an error; nothing is ever downloaded."""

import logging
import pickle
import socket

import huggingface_hub
import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.models import _builder
from timm.models.vision_transformer import checkpoint_filter_fn

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.models import backbone as backbones
from trilabel.models import create_backbone, create_model
from trilabel.models.backbone import with_own_classes


@pytest.fixture(autouse=True)
def downloads(monkeypatch):
    """No network: every attempt to fetch something is counted and fails."""
    attempts = []

    def refuse(*args, **options):
        attempts.append(args)
        raise ConnectionError("no network in tests")

    for name in ("load_state_dict_from_hf", "load_state_dict_from_url", "download_cached_file", "load_custom_from_hf"):
        monkeypatch.setattr(_builder, name, refuse)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return attempts


def random_network(name):
    """A full timm network (with its classifier) in which every tensor is random, buffers too."""
    torch.manual_seed(3)
    network = timm.create_model(name).eval()
    for value in network.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape) * 0.2 + 0.01)
    return network


def saved(folder, name, file="weights.safetensors", dtype=torch.float32):
    network = random_network(name)
    state = {key: value.clone() for key, value in network.state_dict().items()}
    state |= {key: value.to(dtype) for key, value in state.items() if value.is_floating_point()}
    save_file(state, folder / file)
    return network, str(folder / file)


def images(size, count=2):
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(0))


# ---- backbones


@pytest.mark.parametrize("name", ["resnet18", "tiny"])
def test_a_cpu_scores_a_few_images_at_a_time_and_finds_the_same(name, monkeypatch):
    network, seen = create_backbone(name, image_size=64).eval(), []
    network.network.register_forward_pre_hook(lambda _, given: seen.append(len(given[0])))
    if name != "tiny":
        monkeypatch.setattr(network.network, "forward_features", counted(network.network.forward_features, seen))
    monkeypatch.setattr(backbones, "_PIXELS_AT_ONCE", 3 * 64 * 64)
    batch = images(64, 7)
    with torch.inference_mode():
        parts = network(batch)
    assert seen == [3, 3, 1]
    seen.clear()
    torch.testing.assert_close(parts, network(batch), atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        network.train()(batch)
        assert seen == [7, 7], "with gradients, or statistics of a batch, it is one batch"
        assert network.eval()(batch[:0]).shape == (0, *parts.shape[1:])


def counted(function, seen):
    """The function, which also notes how many images it is given."""

    def noting(given):
        seen.append(len(given))
        return function(given)

    return noting


@pytest.mark.parametrize(
    ("name", "size", "shape"),
    [
        ("tiny", None, (128, 8, 8)),
        ("tiny", 40, (128, 5, 5)),
        ("test_resnet", None, (96, 5, 5)),
        ("test_resnet", 96, (96, 3, 3)),
        ("test_efficientnet", 64, (256, 2, 2)),
        ("test_convnext", 64, (64, 2, 2)),
        ("test_mambaout", 96, (64, 3, 3)),
        ("test_vit", None, (64, 10, 10)),
        ("test_vit", 96, (64, 6, 6)),
        ("test_vit3", 64, (96, 4, 4)),
    ],
)
def test_every_kind_of_backbone_gives_maps(name, size, shape, downloads):
    backbone = create_backbone(name, image_size=size).eval()
    with torch.no_grad():
        feature_map = backbone(images(backbone.image_size))
    assert feature_map.shape == (2, *shape) and backbone.features == shape[0] and feature_map.isfinite().all()
    assert len(backbone.mean) == len(backbone.std) == 3 and backbone.image_size == (size or backbone.image_size)
    assert not downloads


def test_the_large_layers_of_vgg_are_part_of_it():
    backbone = create_backbone("vgg11", image_size=64)
    feature_map = backbone(images(64))
    assert feature_map.shape == (2, 4096, 1, 1) and backbone.features == 4096
    feature_map.sum().backward()
    assert all(weights.grad is not None for weights in backbone.parameters())


def test_channels_last_networks_are_transposed():
    backbone = create_backbone("test_mambaout", image_size=96).eval()
    with torch.no_grad():
        raw, feature_map = backbone.network.forward_features(images(96)), backbone(images(96))
    assert backbone.network.output_fmt == "NHWC" and raw.shape == (2, 3, 3, 64)
    for y in range(3):
        for x in range(3):
            assert torch.equal(feature_map[:, :, y, x], raw[:, y, x])


def test_tokens_are_placed_as_their_patches():
    backbone = create_backbone("test_vit3", image_size=64).eval()
    with torch.no_grad():
        raw, feature_map = backbone.network.forward_features(images(64)), backbone(images(64))
    skipped = backbone.network.num_prefix_tokens
    assert raw.shape[1] == skipped + 16 and skipped > 0
    for place in range(16):
        assert torch.equal(feature_map[:, :, place // 4, place % 4], raw[:, skipped + place])


def test_a_classifier_learns_from_images_of_a_size_it_was_not_made_for():
    for name in ("test_resnet", "test_vit"):
        model = create_model(Config(backbone=name), 3, image_size=64)
        model(images(64)).logits.sum().backward()
        assert all(weight.grad is not None for weight in model.head.parameters())
        assert any(weight.grad.abs().sum() > 0 for weight in model.backbone.parameters() if weight.grad is not None)


def test_backbones_that_do_not_exist_or_do_not_fit_are_refused():
    with pytest.raises(TrilabelError, match=r"no backbone named 'resnet5O' in timm; close ones: .*resnet50"):
        create_backbone("resnet5O")
    with pytest.raises(TrilabelError, match="no backbone named '' in timm"):
        create_backbone("")
    with pytest.raises(TrilabelError, match=r"patches of 16 pixels; 100 is not a multiple"):
        create_backbone("test_vit", image_size=100)
    with pytest.raises(TrilabelError, match=r"'deit_tiny_distilled_patch16_224' cannot be made"):
        create_backbone("deit_tiny_distilled_patch16_224")
    with pytest.raises(TrilabelError, match=r"LevitDistilled gives no feature map .* choose another"):
        create_backbone("levit_128s").eval()(images(224, 1))


# ---- weights


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_efficientnet", "test_mambaout", "resnet18"])
def test_weights_are_exactly_those_of_the_file(tmp_path, name, downloads):
    network, file = saved(tmp_path, name)
    for weights in (file, str(tmp_path)):
        backbone = create_backbone(name, weights, 64 if name == "resnet18" else None).eval()
        expected = network.state_dict()
        for key, value in backbone.network.state_dict().items():
            assert torch.equal(value, expected[key]), key
        if name != "test_vit":  # its feature map leaves out the class token
            with torch.no_grad():
                batch = images(backbone.image_size)
                raw = network.forward_features(batch)
                assert torch.equal(backbone(batch), raw.permute(0, 3, 1, 2) if name == "test_mambaout" else raw)
    assert not downloads


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_weights_become_full_precision(tmp_path, dtype):
    network, file = saved(tmp_path, "test_resnet", dtype=dtype)
    state = create_backbone("test_resnet", file).network.state_dict()
    for key, value in state.items():
        assert torch.equal(value, network.state_dict()[key].to(dtype).to(value.dtype)), key
    assert state["conv1.0.weight"].dtype == torch.float32


def test_a_file_without_a_classifier_is_as_good(tmp_path):
    network = random_network("test_resnet")
    state = {key: value for key, value in network.state_dict().items() if not key.startswith("fc.")}
    save_file(state, tmp_path / "trunk.safetensors")
    backbone = create_backbone("test_resnet", str(tmp_path / "trunk.safetensors"))
    assert all(torch.equal(value, state[key]) for key, value in backbone.network.state_dict().items())


def test_position_embeddings_follow_the_image_size(tmp_path):
    network, file = saved(tmp_path, "test_vit")
    backbone = create_backbone("test_vit", file, 96)
    state = backbone.network.state_dict()
    assert state["pos_embed"].shape[1] < network.state_dict()["pos_embed"].shape[1]
    assert torch.equal(state["blocks.0.attn.qkv.weight"], network.state_dict()["blocks.0.attn.qkv.weight"])


def test_networks_whose_own_weights_come_in_another_format_read_safetensors_too(tmp_path):
    assert timm.get_pretrained_cfg("vit_tiny_patch16_224").custom_load
    network, file = saved(tmp_path, "vit_tiny_patch16_224")
    state = create_backbone("vit_tiny_patch16_224", file).network.state_dict()
    assert all(torch.equal(value, network.state_dict()[key]) for key, value in state.items())


def test_batch_norm_counters_may_be_missing(tmp_path):
    """As in weights converted from Keras or Caffe, which count no batches."""
    state = {k: v for k, v in random_network("test_resnet").state_dict().items() if not k.endswith("batches_tracked")}
    save_file(state, tmp_path / "converted.safetensors")
    loaded = create_backbone("test_resnet", str(tmp_path / "converted.safetensors")).network.state_dict()
    assert all(torch.equal(loaded[key], value) for key, value in state.items() if not key.startswith("fc."))


def test_weights_of_torchvision_are_renamed_as_timm_does(tmp_path):
    """VGG has its two large layers as linear ones there, and as convolutions here."""
    network = random_network("vgg11")
    names = {"pre_logits.fc1": "classifier.0", "pre_logits.fc2": "classifier.3", "head.fc": "classifier.6"}
    state = {}
    for key, value in network.state_dict().items():
        part, _, last = key.rpartition(".")
        state[f"{names.get(part, part)}.{last}"] = value.flatten(1) if part in names and last == "weight" else value
    save_file({key: value.contiguous() for key, value in state.items()}, tmp_path / "vgg.safetensors")
    loaded = create_backbone("vgg11", str(tmp_path / "vgg.safetensors"), 64).network.state_dict()
    assert loaded and all(torch.equal(value, network.state_dict()[key]) for key, value in loaded.items())


def test_a_network_that_pooled_before_its_last_normalization_fits(tmp_path):
    state = {
        key.replace("norm.", "fc_norm.") if key.startswith("norm.") else key: value
        for key, value in random_network("test_vit").state_dict().items()
    }
    save_file(state, tmp_path / "pooled.safetensors")
    loaded = create_backbone("test_vit", str(tmp_path / "pooled.safetensors")).network.state_dict()
    assert all(torch.equal(value, state[key]) for key, value in loaded.items() if not key.startswith("norm."))


def refused(name, weights):
    """The message: one line that names the weights."""
    with pytest.raises(TrilabelError) as caught:
        create_backbone(name, str(weights))
    message = str(caught.value)
    assert "\n" not in message and str(weights) in message
    return message


@pytest.mark.parametrize(
    ("of", "into"),
    [
        ("test_resnet", "test_vit"),
        ("test_vit", "test_resnet"),
        ("test_resnet", "resnet18"),
        ("resnet18", "resnet34"),
        ("resnet34", "resnet18"),  # all that resnet18 wants is in there, and more
        ("test_vit", "test_vit3"),
    ],
)
def test_weights_of_another_backbone_are_refused(tmp_path, of, into, caplog):
    _, file = saved(tmp_path, of)
    with caplog.at_level(logging.WARNING):
        assert f"do not fit backbone {into!r}" in refused(into, file)
    assert not caplog.records, "the error says it all"


def test_what_is_no_weights_file_is_refused(tmp_path):
    strange = tmp_path / "strange.safetensors"
    save_file({"a": torch.zeros(3)}, strange)
    assert "do not fit backbone" in refused("test_resnet", strange)
    _, file = saved(tmp_path, "test_resnet", "good.safetensors")
    whole = (tmp_path / "good.safetensors").read_bytes()
    for number, data in enumerate((b"", b"rubbish" * 20, whole[:7], whole[:50], whole[:-1], whole[: len(whole) // 2])):
        broken = tmp_path / f"{number}.safetensors"
        broken.write_bytes(data)
        assert "do not fit backbone" in refused("test_resnet", broken)
    create_backbone("test_resnet", file)


def test_missing_pickled_and_ambiguous_weights_are_refused(tmp_path):
    assert "no such weights file" in refused("test_resnet", tmp_path / "missing.safetensors")
    assert "found 0" in refused("test_resnet", tmp_path)
    for suffix in (".pth", ".bin", ".pt"):
        torch.save({"a": torch.zeros(1)}, tmp_path / f"old{suffix}")
        assert "only .safetensors weights are read" in refused("test_resnet", tmp_path / f"old{suffix}")
    for file in ("a.safetensors", "b.safetensors"):
        saved(tmp_path, "test_resnet", file)
    assert "found 2" in refused("test_resnet", tmp_path)


def test_a_pickle_in_disguise_is_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "boom"), "w"))

    disguised = tmp_path / "weights.safetensors"
    disguised.write_bytes(pickle.dumps(Bomb()))
    refused("test_resnet", disguised)
    assert not (tmp_path / "boom").exists()


def test_tiny_has_no_weights():
    with pytest.raises(TrilabelError, match="the tiny network has no pretrained weights"):
        create_backbone("tiny", "hub")


@pytest.mark.parametrize(
    ("of", "into"),
    [
        ("tiny", "test_resnet"),
        ("test_resnet", "tiny"),
        ("resnet34", "resnet18"),  # all that resnet18 wants is in there, and more
        ("test_vit", "test_vit2"),  # some of the same names, of other sizes
    ],
)
def test_a_run_of_another_backbone_is_refused(tmp_path, of, into):
    (tmp_path / "config.json").write_text("{}")
    state = create_model(Config(backbone=of), 3).state_dict()
    save_file({f"model.{name}": value for name, value in state.items()}, tmp_path / "best.safetensors")
    message = refused(into, tmp_path)
    assert f"do not fit backbone {into!r}" in message and len(message.replace(str(tmp_path), "")) < 200
    create_backbone(of, str(tmp_path))


def test_a_damaged_run_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    for data in (b"", b"rubbish" * 20):
        (tmp_path / "best.safetensors").write_bytes(data)
        assert "do not fit backbone 'tiny'" in refused("tiny", tmp_path)


def test_only_hub_downloads_and_says_when_it_cannot(downloads):
    for name in ("test_resnet", "test_vit"):
        create_backbone(name)
    assert not downloads
    with pytest.raises(TrilabelError, match=r"weights from the hub; .*no network in tests"):
        create_backbone("test_resnet", "hub")
    assert downloads


# ---- the original ResNet


def test_v1_strides_in_the_first_convolution(tmp_path):
    _, file = saved(tmp_path, "resnet26")
    new, old = (create_backbone(name, file, 64).eval() for name in ("resnet26", "resnet26-v1"))
    for stage in ("layer2", "layer3", "layer4"):
        first, *others = getattr(old.network, stage)
        assert first.conv1.stride == (2, 2) and first.conv2.stride == (1, 1)
        assert first.conv1.kernel_size == (1, 1) and first.conv2.kernel_size == (3, 3)
        assert all(block.conv1.stride == block.conv2.stride == (1, 1) for block in others)
    assert old.network.layer1[0].conv1.stride == (1, 1)
    with torch.no_grad():
        one, two = new(images(64)), old(images(64))
    assert one.shape == two.shape == (2, 2048, 2, 2) and not torch.allclose(one, two)
    assert all(map(torch.equal, new.state_dict().values(), old.state_dict().values()))


# ---- the classes that it was pretrained on


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_vit3", "test_convnext", "test_mambaout", "vgg11"])
def test_own_classes_are_channels_beside_the_features(name, tmp_path, downloads):
    """The first channels are those of the network without, the others what timm's own classifier says."""
    torch.manual_seed(0)
    whole, file = timm.create_model(name).eval(), str(tmp_path / "weights.safetensors")
    save_file(whole.state_dict(), file)
    assert with_own_classes(name, file) == with_own_classes(name, "hub") == f"{name}+1000"
    plain, own = (create_backbone(each, file, 96).eval() for each in (name, f"{name}+1000"))
    assert (own.features, own.classes, plain.classes) == (plain.features + 1000, 1000, 0)
    if "vit" in name:
        whole = timm.create_model(name, img_size=96).eval()
        whole.load_state_dict(own.network.state_dict())
    with torch.no_grad():
        features, both, probabilities = plain(images(96)), own(images(96)), whole(images(96)).softmax(1)
    torch.testing.assert_close(both[:, : plain.features], features)
    length = 1.2 * features.mean((2, 3)).norm(dim=1)
    for image in range(2):
        for channels in both[image, plain.features :].flatten(1).T:  # of each cell
            torch.testing.assert_close(channels, length[image] * probabilities[image].sqrt(), atol=1e-5, rtol=1e-4)
    assert not downloads


def test_fine_tuning_reaches_the_classifier_of_own_classes():
    backbone = create_backbone("test_resnet+1000", image_size=64)
    backbone(images(64))[:, backbone.features - 1000 :].square().sum().backward()
    assert all(weights.grad is not None for weights in backbone.parameters())


def test_own_classes_that_are_sure_are_finite_in_half_precision():
    backbone = create_backbone("test_resnet+1000", image_size=64).eval()
    with torch.no_grad():
        backbone.network.fc.weight.mul_(1e4)
        with torch.autocast("cpu", torch.bfloat16):
            found = backbone(images(64))
    assert found.isfinite().all() and found[:, -1000:].amax() > 0


def test_weights_without_a_classifier_of_imagenet_have_no_own_classes(tmp_path, downloads):
    whole, file = saved(tmp_path, "test_resnet")
    state = whole.state_dict()
    other, none = str(tmp_path / "other.safetensors"), str(tmp_path / "none.safetensors")
    save_file(state | {"fc.weight": state["fc.weight"][:512].clone(), "fc.bias": state["fc.bias"][:512].clone()}, other)
    save_file({key: value for key, value in state.items() if not key.startswith("fc.")}, none)
    for weights in (other, none, None):
        assert with_own_classes("test_resnet", weights) == "test_resnet"
    for name in ("test_resnet+0", "test_resnet+512", "tiny"):
        assert with_own_classes(name, file) == name
    assert with_own_classes("test_vit2", "hub") == "test_vit2"  # its map is another one without a classifier
    assert create_backbone("test_resnet+0", file).features == 96
    assert create_backbone("test_resnet+512", other).features == 96 + 512
    for weights, reason in ((file, "size mismatch for fc.weight"), (none, "2 tensors differ, e.g. 'fc.weight'")):
        with pytest.raises(TrilabelError, match=rf"do not fit backbone 'test_resnet\+512' \(.*{reason}"):
            create_backbone("test_resnet+512", weights)
    assert not downloads


@pytest.mark.parametrize("name", ["resnet18+", "resnet18+many", "resnet18+-1", "resnet50-v1+1e3", "resnet18+²"])
def test_own_classes_are_a_number(name):
    with pytest.raises(TrilabelError, match=r"after the \+ comes a number"):
        create_backbone(name)


@pytest.mark.parametrize("name", ["resnet18-v1", "test_vit-v1", "test_efficientnet-v1"])
def test_v1_of_anything_else_is_refused(name):
    with pytest.raises(TrilabelError, match="-v1 is for timm's bottleneck ResNets"):
        create_backbone(name)


def test_position_embeddings_are_resized_as_timm_does_for_the_family(tmp_path):
    """FlexiViT's are interpolated in another way than those of other vision transformers."""
    file, own = tmp_path / "flexivit.safetensors", {"interpolation": "bilinear", "antialias": False}
    torch.manual_seed(0)
    weights = timm.create_model("flexivit_small", num_classes=0).state_dict()
    save_file(weights, file)
    smaller = timm.create_model("flexivit_small", num_classes=0, img_size=160)
    usual, expected = (checkpoint_filter_fn(dict(weights), smaller, **options)["pos_embed"] for options in ({}, own))
    found = create_backbone("flexivit_small", str(file), 160).network.pos_embed
    assert torch.equal(found, expected) and not torch.equal(usual, expected)
