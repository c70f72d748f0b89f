"""image_parts.py - messages whose content is a list of parts, with images, as strict as the services that take them: known types alone, data
URLs of whole PNG images in base64, a size that every service takes. The shapes are OpenAI's."""
import base64
import binascii
import struct

PREFIX = "data:image/png;base64,"
EDGE, MOST = 1024, 1 << 20
TYPES = {"chat": ("text", "image_url"), "responses": ("input_text", "input_image")}


def png_of(part):
    """The bytes of an image part of either API."""
    url = part["image_url"]
    url = url["url"] if isinstance(url, dict) else url
    assert url.startswith(PREFIX), url[:60]
    return base64.b64decode(url[len(PREFIX):], validate=True)


def size_of(png):
    return struct.unpack(">II", png[16:24])


def images(content):
    """The PNGs of one message's content."""
    return [png_of(p) for p in content if p["type"] in ("image_url", "input_image")] if isinstance(content, list) else []


def words(content):
    return content if isinstance(content, str) else "\n".join(p.get("text", "") for p in content or [])


def check_parts(where, parts, shape, problems):
    text, image = TYPES[shape]
    found = 0
    for i, part in enumerate(parts):
        at = "%s[%d]" % (where, i)
        if part.get("type") == text:
            if set(part) != {"type", "text"} or not isinstance(part["text"], str) or not part["text"]:
                problems.append("%s is %r" % (at, part))
        elif part.get("type") == image:
            found += 1
            inner = part.get("image_url")
            if shape == "chat" and (set(part) != {"type", "image_url"} or not isinstance(inner, dict) or set(inner) - {"url", "detail"}):
                problems.append("%s: Invalid type for 'image_url': expected an object with 'url'" % at)
            elif shape == "responses" and (set(part) - {"type", "image_url", "detail", "file_id"} or not isinstance(inner, str)):
                problems.append("%s: Invalid type for 'image_url': expected an image URL" % at)
            else:
                check_png(at, part, problems)
        else:
            problems.append("%s: Invalid value: '%s'. Supported values are: '%s' and '%s'." % (at, part.get("type"), text, image))
    if not found:
        problems.append("%s is a list of parts without an image" % where)


def check_png(at, part, problems):
    try:
        png = png_of(part)
    except (AssertionError, binascii.Error) as e:
        problems.append("%s: the image is no data URL of a PNG: %s" % (at, e))
        return
    if not png.startswith(b"\x89PNG\r\n\x1a\n") or not png.endswith(b"IEND\xaeB`\x82"):
        problems.append("%s: the image is no whole PNG" % at)
    elif len(png) > MOST or max(size_of(png)) > EDGE:
        problems.append("%s: the image has %d bytes and %d x %d pixels" % ((at, len(png)) + size_of(png)))
