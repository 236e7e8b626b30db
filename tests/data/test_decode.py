"""Image files of every kind come out the same, and a broken one never gives anything but an error that names it."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.support.pictures import RGB, SIZE, WHOLE, as_array, distance, encoded, pixels, written
from trilabel.data import decode as module
from trilabel.data.decode import check_image, decode, resized
from trilabel.errors import TrilabelError


def refused(path, size=SIZE):
    """The message of the error that decoding raises; anything but a TrilabelError fails the test."""
    with pytest.raises(TrilabelError) as caught:
        decode(path, size)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "WEBP"])
def test_an_image_of_the_right_size_keeps_every_pixel(tmp_path, kind):
    options = {"lossless": True} if kind == "WEBP" else {}
    image = decode(written(tmp_path, encoded(Image.fromarray(pixels()), kind, **options)), SIZE)
    assert image.shape == (3, SIZE, SIZE) and image.dtype == torch.uint8
    assert np.array_equal(as_array(image), pixels())


@pytest.mark.parametrize("kind", WHOLE)
def test_resizing_squashes_to_a_square(tmp_path, kind):
    image = decode(written(tmp_path, WHOLE[kind]), SIZE)
    assert distance(image, pixels()) <= 3, "the same function of relative position, whatever the shape of the file"


def test_a_large_jpeg_decoded_at_a_smaller_scale_is_the_same_picture(tmp_path):
    image = decode(written(tmp_path, encoded(Image.fromarray(pixels(600, 800)), "JPEG", quality=95)), SIZE)
    assert distance(image, pixels()) <= 3


def test_gray_palette_and_transparent_images_become_rgb(tmp_path):
    gray = pixels()[:, :, 0]
    thrice = np.stack([gray] * 3, 2)
    few = np.array([[10, 20, 30], [200, 100, 50], [0, 255, 0]], np.uint8)
    index = (np.arange(SIZE * SIZE).reshape(SIZE, SIZE) // 5 % 3).astype(np.uint8)
    palette = Image.frombytes("P", (SIZE, SIZE), index.tobytes())
    palette.putpalette(few.tobytes())
    alpha = Image.fromarray(np.dstack([pixels(), gray]))
    cases = [
        (encoded(Image.fromarray(gray), "PNG"), thrice),
        (encoded(Image.fromarray(gray).convert("LA"), "PNG"), thrice),
        (encoded(Image.fromarray(gray > 99), "PNG"), np.where(thrice > 99, 255, 0)),
        (encoded(palette, "PNG"), few[index]),
        (encoded(palette, "GIF"), few[index]),
        (encoded(palette, "PNG", transparency=1), few[index]),
        (encoded(palette, "PNG", transparency=bytes([255, 0, 128])), few[index]),
        (encoded(alpha, "PNG"), pixels()),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data, expected in cases:
            assert np.array_equal(as_array(decode(written(tmp_path, data), SIZE)), expected)


def test_16_bit_and_float_grays_are_not_clipped_to_white(tmp_path):
    gray = pixels()[:, :, 0]
    assert gray.max() == 200
    wide = Image.fromarray(gray.astype(np.uint16) * 257)
    for image, kind in (
        (wide, "PNG"),
        (wide, "TIFF"),
        (Image.fromarray(gray.astype(np.int32) * 257), "TIFF"),
        (Image.fromarray(gray.astype(np.float32)), "TIFF"),
        (Image.fromarray(gray.astype(np.float32) * 257), "TIFF"),
    ):
        got = decode(written(tmp_path, encoded(image, kind)), SIZE)
        assert distance(got, np.stack([gray] * 3, 2)) <= 1
    assert decode(written(tmp_path, encoded(Image.fromarray(np.zeros((9, 9), np.uint16)), "PNG")), SIZE).max() == 0


STORED = {  # how a camera that notes this orientation stores an upright image
    1: lambda a: a,
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: lambda a: a.swapaxes(0, 1),
    6: np.rot90,
    7: lambda a: np.rot90(a, 2).swapaxes(0, 1),
    8: lambda a: np.rot90(a, -1),
}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_images_come_out_upright(tmp_path, kind):
    for orientation, stored in STORED.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        image = Image.fromarray(np.ascontiguousarray(stored(pixels(30, 40))))
        got = decode(written(tmp_path, encoded(image, kind, exif=exif)), SIZE)
        assert distance(got, pixels()) <= 3, f"orientation {orientation}"


def test_a_damaged_orientation_does_not_lose_the_image(tmp_path):
    for exif in (
        b"Exif\0\0rubbish",
        b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + b"\x01\x12\0\x03\xff\xff\xff\xff" * 3,
        b"Exif",
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = decode(written(tmp_path, encoded(RGB, "JPEG", exif=exif)), SIZE)
        assert distance(got, pixels()) <= 3


def test_an_image_of_one_pixel(tmp_path):
    for kind in ("PNG", "JPEG", "WEBP"):
        got = decode(written(tmp_path, encoded(Image.new("RGB", (1, 1), (90, 90, 90)), kind)), SIZE)
        assert got.shape == (3, SIZE, SIZE) and (got.int() - 90).abs().max() <= 3
    thin = decode(written(tmp_path, encoded(Image.new("RGB", (1, 500), (9, 8, 7)), "PNG")), SIZE)
    assert (thin == torch.tensor([9, 8, 7]).view(3, 1, 1)).all()


# ---- what is no image


def test_missing_empty_folder_and_text_are_refused(tmp_path):
    assert "no such image" in refused(str(tmp_path / "missing.jpg"))
    assert "no such image" in check_image(str(tmp_path / "missing.jpg"))
    empty = written(tmp_path, b"", "empty.jpg")
    assert "broken image" in refused(empty) and "empty file" in check_image(empty)
    assert "broken image" in refused(str(tmp_path)) and "cannot be read" in check_image(str(tmp_path))
    text = written(tmp_path, b"this is no image\n" * 9, "text.jpg")
    assert "broken image" in refused(text) and check_image(text) is None
    assert "broken image" in refused("nul\0.jpg") and "cannot be read" in check_image("nul\0.jpg")
    for data in (b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\xff\0\0\0WEBPVP8 ", b"\xff\xd8\xff\xd9", b"\0"):
        assert "broken image" in refused(written(tmp_path, data))


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_cut_anywhere_is_refused_and_found_without_decoding_all(tmp_path, kind):
    whole = WHOLE[kind]
    for cut in sorted({*range(1, 40, 3), *np.linspace(1, len(whole) - 24, 60).astype(int)}):
        path = written(tmp_path, whole[:cut])
        refused(path)
        wrong = check_image(path)
        if cut > 8:  # the first bytes say what it would have been
            assert wrong is not None and wrong.startswith(f"{path}: broken image"), cut
    for cut in range(len(whole) - 24, len(whole)):  # the end mark may be missing behind a whole picture
        path = written(tmp_path, whole[:cut])
        if check_image(path) is None:
            assert torch.equal(decode(path, SIZE), decode(written(tmp_path, whole, "whole"), SIZE))
        else:
            refused(path)


@pytest.mark.parametrize("kind", WHOLE)
def test_a_whole_file_raises_no_alarm(tmp_path, kind):
    assert check_image(written(tmp_path, WHOLE[kind])) is None


@pytest.mark.parametrize("kind", ["jpeg", "progressive jpeg", "cmyk jpeg", "png"])
@pytest.mark.parametrize("more", [1, 62, 63, 64, 65, 5000, 300_000])
def test_data_behind_a_whole_image_does_not_matter(tmp_path, kind, more):
    path = written(tmp_path, WHOLE[kind] + np.random.default_rng(more).bytes(more))
    assert check_image(path) is None
    assert torch.equal(decode(path, SIZE), decode(written(tmp_path, WHOLE[kind], "whole"), SIZE))


def test_checking_decodes_only_where_there_is_doubt(tmp_path, monkeypatch):
    decoded = []
    monkeypatch.setattr(module, "decode", lambda path, size: decoded.append(path))
    for name, data in WHOLE.items():
        check_image(written(tmp_path, data, name))
    assert not decoded
    check_image(written(tmp_path, WHOLE["jpeg"][:-50], "cut"))
    assert len(decoded) == 1


damage = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*WHOLE, "tiff", "gif"]), damage, st.booleans())
def test_damaged_bytes_give_an_image_or_one_kind_of_error(tmp_path_factory, kind, changes, in_header):
    data = bytearray(WHOLE.get(kind) or encoded(RGB.quantize() if kind == "gif" else RGB, kind.upper()))
    for place, value in changes:
        data[int(place * (min(200, len(data)) if in_header else len(data)))] = value
    path = written(tmp_path_factory.mktemp("damaged"), bytes(data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = check_image(path)
        assert wrong is None or wrong.startswith(f"{path}: ")
        try:
            assert decode(path, 8).shape == (3, 8, 8)
        except TrilabelError as error:
            assert str(error).startswith(f"{path}: ")


def test_resizing_in_memory_is_that_of_files(tmp_path):
    for height, width in ((61, 47), (200, 90), (7, 9)):
        picture = pixels(height, width)
        got = resized(torch.from_numpy(picture).permute(2, 0, 1)[None], SIZE)[0]
        from_file = decode(written(tmp_path, encoded(Image.fromarray(picture), "PNG")), SIZE)
        assert (got.int() - from_file.int()).abs().max() <= 2
    noise = np.random.default_rng(0).integers(0, 256, (70, 53, 3), dtype=np.uint8)  # averaged, not picked from
    got = resized(torch.from_numpy(noise).permute(2, 0, 1)[None], SIZE)[0]
    from_file = decode(written(tmp_path, encoded(Image.fromarray(noise), "PNG")), SIZE)
    assert (got.int() - from_file.int()).abs().max() <= 2
    same = torch.from_numpy(pixels()).permute(2, 0, 1)[None]
    assert resized(same, SIZE) is same
