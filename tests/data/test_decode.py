"""Image files of every kind come out the same, and a broken one never gives anything but an error that names it."""

import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.support.pictures import RGB, SIZE, WHOLE, as_array, distance, encoded, pixels, written
from tests.support.strange_files import as_somebody_else, closed_file, make_pipe
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


GRAY = pixels()[:, :, 0]  # 0 to 200
THRICE = np.stack([GRAY] * 3, 2)


def test_16_bit_grays_are_scaled_by_their_depth(tmp_path):
    for data in wide_grays(GRAY.astype(np.uint16) * 257):
        got = decode(written(tmp_path, data), SIZE)
        assert np.array_equal(as_array(got), THRICE)


def test_a_dark_16_bit_image_stays_dark(tmp_path):
    """By its own maximum it would become as bright as any other."""
    dark = GRAY.astype(np.uint16)
    for data in wide_grays(dark):
        assert decode(written(tmp_path, data), SIZE).max() <= 1
    half, full = (
        decode(written(tmp_path, encoded(Image.fromarray(dark * times), "PNG")), SIZE) for times in (128, 257)
    )
    assert distance(half, as_array(full) // 2) <= 1, "half the exposure is half as bright"


def wide_grays(values):
    """Files of 16-bit grays: PNG, TIFF in both byte orders, PGM, and numbers of 32 bits."""
    image = Image.fromarray(values)
    yield encoded(image, "PNG")
    yield encoded(image, "TIFF")
    yield tiff(values.astype(">u2"), b"MM")
    yield b"P5 %d %d 65535\n" % values.shape[::-1] + values.astype(">u2").tobytes()
    yield encoded(Image.fromarray(values.astype(np.int32)), "TIFF")


def tiff(values, order=b"II", kind=1):
    """A TIFF file of one strip: H×W or H×W×3, whole numbers (kind 1) or floats (kind 3)."""
    mark = "<" if order == b"II" else ">"
    height, width, *colors = values.shape
    count, bits = (colors or [1])[0], values.dtype.itemsize * 8
    tags = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, count, bits), (259, 3, 1, 1)]
    tags += [(262, 3, 1, 2 if colors else 1), (273, 4, 1, 0), (277, 3, 1, count), (278, 3, 1, height)]
    tags += [(279, 4, 1, values.nbytes), (339, 3, count, kind)]
    after = 8 + 2 + 12 * len(tags) + 4
    more = struct.pack(f"{mark}3H", *[bits] * 3) + struct.pack(f"{mark}3H", *[kind] * 3)
    entries = b""
    for tag, code, number, value in tags:
        value = after + len(more) if tag == 273 else value
        if number == 3:
            entries += struct.pack(f"{mark}HHLL", tag, code, number, after + (6 if tag == 339 else 0))
        else:
            entries += struct.pack(f"{mark}HHL", tag, code, number)
            entries += struct.pack(f"{mark}HH", value, 0) if code == 3 else struct.pack(f"{mark}L", value)
    head = order + struct.pack(f"{mark}HLH", 42, 8, len(tags))
    return head + entries + struct.pack(f"{mark}L", 0) + more + values.tobytes()


def png_of_16_bit_colors(values):
    def chunk(name, content):
        return struct.pack(">L", len(content)) + name + content + struct.pack(">L", zlib.crc32(name + content))

    height, width, _ = values.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    head = struct.pack(">LLBBBBB", width, height, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_16_bit_colors_are_scaled_by_their_depth(tmp_path):
    for times in (257, 1):
        values = pixels().astype(np.uint16) * times
        expected = pixels() if times == 257 else np.zeros_like(pixels())
        for data in (png_of_16_bit_colors(values), tiff(values), tiff(values.astype(">u2"), b"MM")):
            assert np.array_equal(as_array(decode(written(tmp_path, data), SIZE)), expected)


@pytest.mark.parametrize(("times", "top"), [(1 / 255, 1), (1, 255), (257, 65535)])
def test_floats_are_shares_or_8_or_16_bit_grays(tmp_path, times, top):
    values = (GRAY.astype(np.float64) * times).astype(np.float32)
    for data in (encoded(Image.fromarray(values), "TIFF"), tiff(values, kind=3), tiff(values.astype(">f4"), b"MM", 3)):
        assert np.array_equal(as_array(decode(written(tmp_path, data), SIZE)), THRICE)
    above = values.copy()
    above[3, 4] = 1.5 * top  # as sharpening and resampling leave it
    got = as_array(decode(written(tmp_path, encoded(Image.fromarray(above), "TIFF")), SIZE))
    assert (got != THRICE).any(2).sum() == 1 and (got[3, 4] == 255).all()


def test_pixels_that_are_no_numbers_are_black(tmp_path):
    values = (GRAY / 255).astype(np.float32)
    values[0, 0], values[1, 1], values[2, 2], values[3, 3] = np.nan, np.inf, -np.inf, -0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = as_array(decode(written(tmp_path, encoded(Image.fromarray(values), "TIFF")), SIZE))
    expected = THRICE.copy()
    expected[range(4), range(4)] = 0
    assert np.array_equal(got, expected)
    nothing = encoded(Image.fromarray(np.full((9, 9), np.nan, np.float32)), "TIFF")
    assert decode(written(tmp_path, nothing), SIZE).max() == 0


def test_whole_numbers_of_32_bits(tmp_path):
    """Beyond 16 bits they use the range of 32, which the TIFF reader of Pillow gives as negative numbers."""
    values = (GRAY.astype(np.uint64) * 0x01010101).astype(np.uint32)
    assert distance(decode(written(tmp_path, tiff(values)), SIZE), THRICE) <= 1


def test_what_is_no_file_is_not_opened(tmp_path):
    pipe = make_pipe(tmp_path / "a.jpg")
    for path, kind in ((str(pipe), "a named pipe"), ("/dev/zero", "a device"), (str(tmp_path), "a folder")):
        assert refused(path) == check_image(path) == f"{path}: not a regular file ({kind}); put the file in its place"


def test_an_image_that_may_not_be_read_is_not_broken():
    with closed_file(encoded(RGB, "JPEG"), "a.jpg") as path, as_somebody_else():
        assert refused(path) == check_image(str(path)) == f"{path}: may not be read (permission denied)"


def test_limits_of_bytes_and_pixels_can_be_raised(tmp_path, monkeypatch):
    path = written(tmp_path, encoded(RGB, "PNG"))
    monkeypatch.setenv("TRILABEL_MAX_IMAGE_BYTES", "100")
    assert "set the environment variable TRILABEL_MAX_IMAGE_BYTES" in refused(path)
    assert check_image(path) == refused(path)
    monkeypatch.setenv("TRILABEL_MAX_IMAGE_BYTES", "1000000")
    monkeypatch.setenv("TRILABEL_MAX_IMAGE_PIXELS", "4799")
    assert "80 × 60 pixels, more than the 4,799 allowed" in refused(path)
    monkeypatch.setenv("TRILABEL_MAX_IMAGE_PIXELS", "4800")
    decode(path, SIZE)


def test_one_hot_pixel_and_pixels_without_a_value_leave_the_others_as_they_are(tmp_path):
    values = (GRAY / 255).astype(np.float32)
    values[0, :20], values[1, 1], values[2, 2] = -3.4e38, 3.4e38, 5e4
    got = as_array(decode(written(tmp_path, encoded(Image.fromarray(values), "TIFF")), SIZE))
    expected = THRICE.copy()
    expected[0, :20], expected[1, 1], expected[2, 2] = 0, 0, 255
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("kind", ["EPS", "ICO", "PCX", "TGA"])
def test_other_kinds_of_images_are_not_opened(tmp_path, kind):
    """Pillow starts Ghostscript for EPS, whatever the file is called."""
    assert "no kind of image that can be read" in refused(written(tmp_path, encoded(RGB, kind)))


def test_an_image_that_becomes_a_gigabyte_is_refused(tmp_path):
    path = written(tmp_path, encoded(Image.new("1", (20_000, 10_000)), "PNG"))
    assert Path(path).stat().st_size < 100_000
    assert "set the environment variable TRILABEL_MAX_IMAGE_PIXELS" in refused(path)


def test_more_pixels_than_pillow_allows_can_be_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)  # Pillow warns above this and refuses twice as many
    path = written(tmp_path, encoded(RGB, "PNG"))
    monkeypatch.setenv("TRILABEL_MAX_IMAGE_PIXELS", "2000")
    assert "more than the 2,000 allowed" in refused(path)
    monkeypatch.setenv("TRILABEL_MAX_IMAGE_PIXELS", "5000")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(path, 8).shape == (3, 8, 8)
    assert Image.MAX_IMAGE_PIXELS == 1000, "it is that of the whole program"


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
    text = written(tmp_path, b"this is no image\n" * 9, "text.jpg")
    assert "broken image" in refused(text) and check_image(text) is None
    assert "zero byte" in refused("nul\0.jpg") and "zero byte" in check_image("nul\0.jpg")
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


def test_heic_is_read_where_the_package_is_there(tmp_path):
    pillow_heif = pytest.importorskip("pillow_heif")
    written_image = Image.new("RGB", (40, 30), (200, 30, 30))
    pillow_heif.from_pillow(written_image).save(tmp_path / "a.heic")
    assert (decode(tmp_path / "a.heic", 8).float().mean((1, 2)) - torch.tensor([200.0, 30, 30])).abs().max() < 8


def test_heic_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "can_read_heif", lambda: False)
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(100))
    assert refused(tmp_path / "a.heic").endswith(
        "a HEIC image; install what reads it (pip install pillow-heif), or convert it to JPEG"
    )
