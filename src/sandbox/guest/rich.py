# rich.py - part of the worker, compiled when the value of a cell has other forms than text: an image, a table
# as HTML. The names are Jupyter's, so whatever shows itself there is kept here. Touches objects of the code,
# as extras.py does: a form that fails is left out, and costs the cell nothing but its time.

FORM_MOST = 1 << 20             # bytes of HTML or SVG
PIXELS_MOST = 40000000          # of an image that we encode ourselves
HTML_HEAD = b'<!DOCTYPE html><meta charset="utf-8">\n'      # conversation/bundle.c takes it off again
# type, method, what the program is told: '=' is a form of the value
VALUE_FORMS = (('image/png', '_repr_png_', b'=png'), ('text/html', '_repr_html_', b'=html'),
               ('image/svg+xml', '_repr_svg_', b'=svg'))


def forms_of(worker, value):
    """Type -> str or bytes."""
    kind, found = type(value), {}
    if hasattr(kind, '_repr_mimebundle_'):
        try:
            bundle = value._repr_mimebundle_(include=None, exclude=None)
            found = dict(bundle[0] if type(bundle) is tuple else bundle or {})
        except Exception:
            found = {}
    for mime, method, _ in VALUE_FORMS:
        if not found.get(mime) and hasattr(kind, method):
            try:
                data = getattr(value, method)()
                found[mime] = data[0] if type(data) is tuple else data
            except Exception:
                pass
    if not found.get('image/png'):
        try:
            found['image/png'] = drawn(worker, kind, value)
        except Exception:
            pass
    return found


def drawn(worker, kind, value):
    """The image of what does not give one itself."""
    out = _io.BytesIO()
    maker = str(getattr(kind, '__module__', '')).partition('.')[0]
    if maker == 'PIL' and value.width * value.height <= PIXELS_MOST:
        value.convert('RGB').save(out, 'PNG')   # a mode that PNG does not have
    elif maker == 'plotly' and hasattr(kind, 'to_image'):
        import importlib.util
        if importlib.util.find_spec('kaleido') is not None:
            return value.to_image(format='png')
    return out.getvalue()


def as_bytes(mime, data):
    if mime == 'image/png':
        if isinstance(data, str):               # as a MIME bundle has it
            import binascii
            data = binascii.a2b_base64(data)
        return bytes(data) if bytes(data[:8]) == b'\x89PNG\r\n\x1a\n' else b''
    text = data.decode('utf-8', 'replace') if isinstance(data, bytes) else str(data)
    if not text.strip():
        return b''
    return (HTML_HEAD if mime == 'text/html' else b'') + text.encode('utf-8', 'replace')


def send_forms(worker, value):
    found = forms_of(worker, value)
    for mime, _, form in VALUE_FORMS:
        try:
            data = as_bytes(mime, found[mime]) if found.get(mime) else b''
        except Exception:
            continue
        if len(data) > FORM_MOST and mime != 'image/png':
            print('[the value has %d bytes of %s: too many to keep]' % (len(data), mime), file=worker.stderr)
        elif data:
            send_figure(worker, form, data)     # noqa: from extras.py


def send_free_figure(worker, value):
    """A figure that pyplot does not know, and so does not save."""
    plt = worker.modules.get('matplotlib.pyplot')
    if plt is None or getattr(value, 'number', None) not in plt.get_fignums():
        draw_figure(worker, value)              # noqa: from extras.py
