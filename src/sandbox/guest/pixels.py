# pixels.py - part of the supervisor, compiled when the program first wants to show an image: a child decodes
# it to rows of RGB. The image comes in as a file does, but into a memory file of ours, where the pixels take
# its place. The decoder may fall to a hostile image; then it is code in the sandbox, like any other.

FORMATS = ('PNG', 'JPEG', 'GIF', 'WEBP', 'BMP')
PICTURE_MOST, TEXTS_BYTES_MOST = (1600, 1200), 65536    # as in conversation/pixels.h
PIXELS_MOST = 40000000          # of the image; each needs four bytes or more while it is decoded


def pixels_begin(self, body):
    asked = dict(tagged(body))
    # the most bytes that a PNG may have; 0: rows of RGB are wanted
    self.asked = int(asked[b'w']), int(asked[b'h']), '#%06x' % int(asked[b'b']), int(asked.get(b'p', b'0'))
    self.asked_texts = b't' in asked
    self.drop_figure()
    self.figure = figure_file()                 # noqa: from collect.py
    if self.figure < 0:
        self.finish(tlv(b'e', b'no memory file can be made in this sandbox'))
        return
    self.put = [self.figure, b'', None]


def pixels_decode(self):
    """The image is whole."""
    self.put, (width, height, background, most) = None, self.asked
    if self.asked_texts and self.pictures and self.send_picture():
        return

    def then(text):
        size = [int(n) if n.isdigit() and len(n) < 6 else 0 for n in text.split(b' ')]
        length = posix.fstat(self.figure).st_size
        if len(size) != 2 or not (0 < size[0] <= width and 0 < size[1] <= height) or most and length > most:
            self.finish(tlv(b'e', b'the decoder did not say how large the image is'))
            return
        need('copy_out')
        self.ending = b''
        self.sending = send_file(self, self.figure, b'pixels',      # noqa: from copy_out.py
                                 length if most else size[0] * size[1] * 3,
                                 tlv(b'w', b'%d' % size[0]) + tlv(b'h', b'%d' % size[1]))
    self.helper_start(lambda: decode_image(self.figure, width, height, background, most), then, self.figure)


def send_picture(self):
    """True: the image is a figure that is here without its texts too. What the form says of it is the code's
    word: texts_apart.py."""
    import binascii
    size = posix.fstat(self.figure).st_size
    for fd, form in reversed(list(self.pictures.items())):
        said = [int(n) if n.isdigit() and len(n) < 12 else 0 for n in form[1:].split(b' ')]
        if len(said) != 5 or said[0] != size or binascii.crc32(posix.pread(self.figure, size, 0)) != said[1]:
            continue
        width, height, length = said[2:]
        pixels = width * height * 3
        if (not (0 < width <= PICTURE_MOST[0] and 0 < height <= PICTURE_MOST[1])
                or not 0 < length <= TEXTS_BYTES_MOST or posix.fstat(fd).st_size != pixels + length):
            return False
        need('copy_out')
        self.ending = b''
        self.sending = send_file(self, fd, b'pixels', pixels,       # noqa: from copy_out.py
                                 tlv(b'w', b'%d' % width) + tlv(b'h', b'%d' % height)
                                 + tlv(b't', posix.pread(fd, length, pixels)))
        return True
    return False


def decode_image(fd, width, height, background, most):
    """Replace the image in the file by its pixels, or by a PNG of at most so many bytes. In the child."""
    try:
        from PIL import Image
    except ImportError:
        raise Refused('the sandbox has no package to decode images with (python3-pil)')
    posix.lseek(fd, 0, 0)
    file = open(fd, 'rb', closefd=False)
    try:
        image = Image.open(file, formats=FORMATS)
    except Image.UnidentifiedImageError:
        # Refused: from helper.py
        raise Refused('no image in a format that can be decoded (PNG, JPEG, GIF, WebP, BMP)')
    if image.width * image.height > PIXELS_MOST:
        raise Refused('%d x %d pixels are too many to decode' % image.size)
    image.draft('RGB', (width, height))         # a JPEG can be decoded at a smaller size
    if most:
        from PIL import ImageOps
        image = ImageOps.exif_transpose(image)  # a model cannot turn a photo by itself
    if image.mode in ('I', 'I;16', 'I;16B'):
        image = image.convert('I').point(lambda v: v * (1 / 256)).convert('L')
    if image.mode not in ('L', 'RGB', 'CMYK', 'YCbCr') or 'transparency' in image.info:
        image = image.convert('RGBA')
    image.thumbnail((width, height), reducing_gap=2.0)
    if image.mode == 'RGBA':
        image = Image.alpha_composite(Image.new('RGBA', image.size, background), image)
    image = image.convert('RGB')
    if most:
        image, data = as_png(image, most)
    else:
        data = image.tobytes()
    posix.ftruncate(fd, 0)
    posix.lseek(fd, 0, 0)
    while data:
        data = data[posix.write(fd, data):]
    return '%d %d' % image.size


def as_png(image, most):
    """Smaller until it fits."""
    import io
    while True:
        out = io.BytesIO()
        image.save(out, 'PNG')
        if out.tell() <= most:
            return image, out.getvalue()
        image.thumbnail((image.width * 3 // 4 or 1, image.height * 3 // 4 or 1))


Supervisor.send_picture = send_picture
Supervisor.pixels_begin, Supervisor.pixels_decode = pixels_begin, pixels_decode
