# profile_packed.py - the part of file_profile.py for what holds other data: ZIP, and for pictures.
# What unpacks to much more than it is costs a bounded part of it.


def inner_profile(name, raw, whole):
    """(the profile of what was inside, the path that it names): of the bytes at its beginning."""
    import shutil
    import tempfile
    folder = tempfile.mkdtemp()
    try:
        inner = os.path.join(folder, os.path.basename(name) or 'data')
        with open(inner, 'wb') as f:
            f.write(raw if whole or len(raw) > SAMPLE else raw[:raw.rfind(b'\n') + 1] or raw)
        said = file_profile(inner)      # which takes what is longer than a sample for a part
        if not whole:
            code, facts = code_and_facts(said)
            facts = re.sub(r'\b(?:about )?(\d+ (rows?|records?|lines)\b)', r'over \1', facts, count=1)
            facts = re.sub(', looked at .* at the end', '', facts, count=1)
            said = '\n'.join(filter(None, [code, facts]))
        return said, inner
    finally:
        shutil.rmtree(folder, True)


def zip_kind(path):
    import zipfile
    try:
        with zipfile.ZipFile(path) as z:
            infos = z.infolist()
            names = [i.filename for i in infos]
            if 'xl/workbook.xml' in names:
                return sheets_or_why(path, 'an Excel workbook', 'openpyxl', 'calamine')
            if 'xl/workbook.bin' in names:
                return sheets_or_why(path, 'a binary Excel workbook', 'calamine', 'pyxlsb')
            if 'mimetype' in names and b'opendocument.spreadsheet' in z.read('mimetype')[:200]:
                return sheets_or_why(path, 'an OpenDocument spreadsheet', 'calamine', 'odf')
            if any(n.endswith('.npy') for n in names) and path.endswith('.npz'):
                return array('import numpy as np; data = np.load(%r)' % path, 'an archive')
            if 'word/document.xml' in names:
                return document(path, z)
            return zip_members(path, z, [i for i in infos if not i.is_dir()])
    except Exception as e:
        TROUBLE.append('the archive cannot be read')
        return 'a ZIP archive that cannot be read: ' + clean(e, 200)


def zip_members(path, z, infos):
    infos = [i for i in infos if not i.filename.startswith('__MACOSX/')]
    shown = ', '.join('%s (%d bytes)' % (clean(i.filename, 80), i.file_size) for i in infos[:20])
    more = ' and %d more' % (len(infos) - 20) if len(infos) > 20 else ''
    facts = ['a ZIP archive of %d: %s%s' % (len(infos), clean(shown, 700), more)]
    total, disk = sum(i.file_size for i in infos), os.statvfs(path)
    if total > disk.f_bavail * disk.f_frsize:
        TROUBLE.append('unpacked it has %d bytes, more than the sandbox has room for' % total)
        facts.append('unpacked it has %d bytes, and only %d are free here: read its members one by one'
                     % (total, disk.f_bavail * disk.f_frsize))
    files = [(i.filename, i.file_size) for i in infos if not i.flag_bits & 1]
    opened = 'import io, zipfile; z = zipfile.ZipFile(%r)' % path
    return '\n'.join([opened] + members(z, 'z.namelist()', 'z.open(%r)', files, z.open, facts))


# how the file begins, and what it is called
PICTURES = ((b'\x89PNG\r\n\x1a\n', 'PNG'), (b'\xff\xd8\xff', 'JPEG'), (b'GIF8', 'GIF'), (b'BM', 'BMP'),
            (b'II*\0', 'TIFF'), (b'MM\0*', 'TIFF'))


def picture_kind(raw):
    if raw[:4] == b'RIFF' and raw[8:12] == b'WEBP':
        return 'WebP'
    kind = next((name for magic, name in PICTURES if raw.startswith(magic)), None)
    return None if kind == 'BMP' and raw[6:10] != bytes(4) else kind


def image(path, raw):
    """Size and mode as Pillow says them, which decodes nothing for that."""
    if not has('PIL'):
        return 'an image, ' + picture_kind(raw)
    read = 'from PIL import Image; im = Image.open(%r)' % path
    try:
        im = run([read])['im']
        return '%s\nan image, %s, %d x %d pixels, %s' % (read, picture_kind(raw), *im.size, im.mode)
    except Exception as e:
        TROUBLE.append('the image cannot be read')
        return 'an image, %s, that Pillow cannot read: %s' % (picture_kind(raw), clean(e, 100))
