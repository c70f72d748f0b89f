# profile_packed.py - the part of file_profile.py for what holds other files: compressed files, ZIP and tar.
# What is inside is unpacked and then described as any file is, here as in the code that the model is given.
# What unpacks to much more than it is costs a bounded part of it.

import collections
import os
import re
import shutil
import tempfile

UNPACKED = 32 << 20             # bytes that are unpacked of one file; /tmp has 64 MiB in a sandbox
HIDDEN = '/tmp/.'               # where code unpacks; that other files there are not kept is told to the user
TAR_MOST = 20000                # members looked at
Packed = collections.namedtuple('Packed', 'magic name module ending rest')
PACKED = (Packed(b'\x1f\x8b', 'gzip', 'gzip', '.gz', 'zlib.decompressobj(31)'),
          Packed(b'BZh', 'bzip2', 'bz2', '.bz2', 'bz2.BZ2Decompressor()'),
          Packed(b'\xfd7zXZ\0', 'xz', 'lzma', '.xz', 'lzma.LZMADecompressor()'),
          Packed(b'\x28\xb5\x2f\xfd', 'zstd', 'zstandard', '.zst',
                 'zstandard.ZstdDecompressor().decompressobj()'))


def unpack_to(opened, path):
    """Write what can be read, up to a limit. (Is that all? why there is no more, or '')."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as out:
        try:
            with opened() as f:
                while out.tell() <= UNPACKED:
                    most = min(1 << 16, UNPACKED + 1 - out.tell())
                    piece = f.read1(most) if hasattr(f, 'read1') else f.read(most)
                    if not piece:
                        return True, ''
                    out.write(piece)
        except EOFError:
            return True, 'it is cut short'
        except Exception as e:          # each module has errors of its own
            out.truncate(0)
            return True, clean(e, 100)
        out.flush()
        with open(path, 'rb') as f:     # a part of a text ends with a line
            f.seek(UNPACKED - ROW)
            out.truncate(UNPACKED - ROW + f.read().rfind(b'\n') + 1)
    return False, ''


def inside(path, whole):
    """(code, facts): the profile of a file that was unpacked, which tells a part of a text as one."""
    if not whole and beginning_of(path) == 'not a text':
        return '', 'binary data; too large to be unpacked here'
    code, facts = code_and_facts(own_names(path, file_profile(path)))
    if not whole:
        facts = re.sub(r'\b(?:about )?(\d+ (rows?|records?|lines)\b)', r'over \1', facts, count=1)
        facts = re.sub(', looked at .* at the end', '', facts, count=1)
    return code, facts


def from_source(code, path, source):
    """The code, in which what reads this file as text reads it from an expression instead."""
    quoted = re.escape(repr(path))
    code = re.sub(r'(pd\.read_(?:csv|fwf)\()' + quoted, lambda m: m[1] + source, code)
    code = re.sub(r'(?<![\w.])open\(%s, .rb.\)' % quoted, lambda m: source, code)
    return re.sub(r'(?<![\w.])open\(' + quoted, lambda m: 'io.TextIOWrapper(' + source, code)


def compressed(path, packed):
    import importlib
    module, what = packed.module, 'compressed with ' + packed.name
    if not has(module):
        return what + missing('what is ' + what, module)
    opened, place = '%s.open(%r)' % (module, path), tempfile.mkdtemp()
    read = 'import %s; raw = %s.read()' % (module, opened)
    name = os.path.basename(path[:-len(packed.ending)] if path.endswith(packed.ending) else path) or 'data'
    inner, target = os.path.join(place, name), HIDDEN + name
    try:
        whole, wrong = unpack_to(lambda: importlib.import_module(module).open(path), inner)
        with open(inner, 'rb') as f:
            raw = f.read(600)
        if wrong:
            TROUBLE.append('its compressed data ' + ('is cut short' if raw else 'cannot be read'))
        if not raw:
            why = ', but it cannot be read: ' + wrong if wrong else '; it is empty'
            return read + '\n' + what + why
        if raw.startswith(packed.magic):
            return read + '\n' + what + ', twice'
        if is_tar(inner, raw):
            return tar_members(path)
        code, facts = inside(inner, whole)
    finally:
        shutil.rmtree(place, True)
    code = code if wrong else from_source(code, inner, opened)
    # pandas unpacks text by itself, mostly by its name
    method = packed.name if packed.name in ('gzip', 'zstd') else packed.ending[1:]
    named = '' if path.endswith(packed.ending) else ', compression=%r' % method
    code = re.sub(r'(pd\.read_csv\()' + re.escape(opened), r'\1%r' % path + named, code)
    what += '' if whole else '; only the first %d MiB of what is inside were looked at' % (UNPACKED >> 20)
    if not code:
        code = read
    elif wrong:
        what += ', and cut short: this is what is left'
        rest = '%s.decompress(open(%r, "rb").read())' % (packed.rest, path)
        code = 'import bz2, lzma, zlib; _ = open(%r, "wb").write(%s)\n%s' % (target, rest, code)
    elif place in code:
        copied = 'import %s, shutil; shutil.copyfileobj(%s, open(%r, "wb"))' % (module, opened, target)
        code = copied + '\n' + code
    elif opened in code:
        code = 'import io, %s; %s' % (module, code)
    said = '%s\n%s' % (code, facts.partition('; read it with')[0])
    return '%s\n%s' % (said.replace(inner, target).replace(place, '/tmp')[:MOST - len(what) - 1], what)


KINDS_TRIED, FORMS_TRIED = 6, 4         # kinds of members, and those of a kind that do not begin alike
ARCHIVES = []                           # those around what is looked at


class Archive:
    """A ZIP or a tar. files: {name: size}; opener: what opens one; opened: the line that opens it in the
    model's code; member: the expression for one that is open; names: that for the names of all, and archive:
    what it is asked of."""

    def __init__(self, path, opened, member, names, archive, files, opener):
        self.opened, self.member, self.names, self.archive = opened, member, names, archive
        self.files, self.opener, self.place, self.held = dict(files), opener, '', {}
        self.target = HIDDEN + (os.path.basename(path).partition('.')[0] or 'archive')

    def unpack(self, name):
        """(the path of a member that is unpacked now, whether that is all of it, why there is no more)"""
        path = os.path.join(self.place, *[part for part in name.split('/') if part not in ('', '.', '..')])
        self.held[path] = name
        data_files.cache_clear()
        return path, *unpack_to(lambda: self.opener(name), path)

    def forms(self, names):
        """[names of members of one kind that begin alike, but for numbers]"""
        if sum(self.files[n] for n in names) > PARTS_BYTES:
            return [[n] for n in names]
        found, form = {}, ''
        for i, name in enumerate(names):        # with all behind PARTS_MOST as the one before
            form = re.sub(r'\d+', '0', beginning_of(self.unpack(name)[0])) if i < PARTS_MOST else form
            found.setdefault(form, []).append(name)
        return [*found.values()]

    def parts(self, names, variable_):
        """[(name, code, facts)] of members that are parts of one table; [] if they are none."""
        listed = repr(names)
        if len(listed) > LISTED:
            listed = "[n for n in %s if n.endswith(%r) and n.split('/')[-1][:2] != '._']" % (
                self.names, os.path.splitext(names[0])[1])
        if len(names) < 2 or eval(listed, {self.member[0]: self.archive}) != names:
            return []
        paths = {n: self.unpack(n)[0] for n in names}
        made = Parts(paths, variable_, self.member.replace('%r', 'f'), listed).profile()
        self.remove()
        return [('', *made)] if made and ', columns: ' in made[1] else []

    def one(self, name):
        """(name, code, facts) of one member."""
        path, whole, wrong = self.unpack(name)
        if wrong:
            return name, '', 'it cannot be read: ' + wrong
        stem = os.path.splitext(name)[0]
        beside = [n for n in self.files if os.path.splitext(n)[0] == stem][:6]
        for n in beside:
            n == name or self.unpack(n)
        code, facts = inside(path, whole)
        for path, other in self.held.items():
            code = from_source(code, path, self.member % other)
        if self.place in code:
            every = '_ = %s.extractall(%r)' % (self.member[0], self.target)
            each = '_ = [%s.extract(n, %r) for n in %r]' % (self.member[0], self.target, beside)
            code = '%s\n%s' % (every if sum(self.files.values()) <= UNPACKED else each, code)
        leads_out = self.place in code and ('..' in name.split('/') or name.startswith('/'))
        code, facts = (said.replace(self.place, self.target) for said in (code, facts))
        return name, '' if leads_out else code, facts

    def kind(self, names):
        """[(name, code, facts)] of members of one kind: of one of each form, or of all of it. Tables lie
        beside each other when they are looked at, and stay."""
        forms, found = self.forms(names)[:FORMS_TRIED], []
        self.remove()
        for form in forms:
            found += self.parts(form, 'together' if found else 'df') or [self.one(form[0])]
            if ', columns: ' not in found[-1][2]:
                break
        alone = [name for name, _, facts in found if name and ', columns: ' in facts]
        if len(alone) > 1:
            for name in alone:
                self.unpack(name)
            found = [self.one(made[0]) if made[0] in alone else made for made in found]
        if not alone:
            self.remove()
        return found

    def remove(self):
        for path in self.held:
            with contextlib.suppress(OSError):
                os.remove(path)
        self.held = {}
        data_files.cache_clear()

    def profile(self, facts):
        """What is told of it: its tables, or if it has none one of its other files."""
        kinds, found, until, known = {}, [], clock() + SECONDS, TROUBLE[:]
        for name in self.files:         # those that belong to a shapefile are no tables of their own
            shape = os.path.splitext(name)[0] + '.shp'
            if name == shape or shape not in self.files:
                kinds.setdefault(re.sub(r'\d+', '0', kind_of(name)), []).append(name)
        kinds = sorted(kinds.values(), key=lambda names: -sum(self.files[n] for n in names))
        self.place = tempfile.mkdtemp()
        ARCHIVES.append(self)
        try:
            for names in kinds[:KINDS_TRIED] if len(ARCHIVES) < 3 else ():
                if found and clock() > until:
                    break
                TROUBLE[:] = known
                with contextlib.suppress(OSError):
                    found += [(trust(*made), TROUBLE[:], *made) for made in self.kind(names)]
        finally:
            ARCHIVES.pop()
            shutil.rmtree(self.place, True)
        return self.told(sorted(found, key=lambda f: f[0]), facts)

    def told(self, found, facts):
        lines, said = [], facts
        for rank, trouble, name, code, told_of in found:
            known = [re.sub('^import [^;]*; ', '', s) for s in lines]
            more = [s for s in code.split('\n') if s and re.sub('^import [^;]*; ', '', s) not in known]
            told_of = [clean(name, 80) + ':'] * bool(name) + [told_of]
            size = sum(len(s) + 1 for s in [self.opened, *lines, *said, *more, *told_of])
            if lines and (rank or size > MOST - len(self.target)):
                break
            TROUBLE[:], lines, said = trouble, lines + more, said + told_of
        return [self.opened, *lines, *said]


def trust(name, code, facts):
    """Which of the members is told: tables before what else has lines, and that before text."""
    return 0 if ', columns: ' in facts else 2 if not code or code.startswith('text = ') else 1


def of_mac(name):
    """Does a member hold only what a Mac knows of another?"""
    return name.startswith('__MACOSX/') or os.path.basename(name).startswith('._')


def zip_kind(path):
    import zipfile
    try:
        with zipfile.ZipFile(path) as z:
            infos = z.infolist()
            names = [i.filename.replace('\\', '/').lower() for i in infos if not i.flag_bits & 1]
            if 'xl/workbook.xml' in names:
                return sheets_or_why(path, 'an Excel workbook', 'openpyxl', 'calamine')
            if 'xl/workbook.bin' in names:
                return sheets_or_why(path, 'a binary Excel workbook', 'calamine', 'pyxlsb')
            if 'mimetype' in names and b'opendocument.spreadsheet' in z.read('mimetype')[:200]:
                return sheets_or_why(path, 'an OpenDocument spreadsheet', 'calamine', 'odf')
            if any(n.endswith('.npy') for n in names) and path.endswith('.npz'):
                return array(path, 'import numpy as np; data = np.load(%r)' % path, 'an archive')
            if 'word/document.xml' in names:
                return document(path, z)
            return zip_members(path, z, [i for i in infos if not i.is_dir()])
    except Exception as e:
        TROUBLE.append('the archive cannot be read')
        return 'a ZIP archive that cannot be read: ' + clean(e, 200)


def zip_members(path, z, infos):
    infos = [i for i in infos if not of_mac(i.filename)]
    shown = ', '.join('%s (%d bytes)' % (clean(i.filename, 80), i.file_size) for i in infos[:20])
    more = ' and %d more' % (len(infos) - 20) if len(infos) > 20 else ''
    facts = ['a ZIP archive of %d: %s%s' % (len(infos), clean(shown, LISTED), more)]
    total, disk = sum(i.file_size for i in infos), os.statvfs(path)
    if total > disk.f_bavail * disk.f_frsize:
        TROUBLE.append('unpacked it has %d bytes, more than the sandbox has room for' % total)
        facts.append('unpacked it has %d bytes, and only %d are free here: read its members one by one'
                     % (total, disk.f_bavail * disk.f_frsize))
    files = [(i.filename, i.file_size) for i in infos if not i.flag_bits & 1]
    if len(files) < len(infos):
        TROUBLE.append('%d of its %d files need a password' % (len(infos) - len(files), len(infos)))
        facts.append(TROUBLE[-1] + ': z.setpassword(b"...")')
    opened = 'import io, zipfile; z = zipfile.ZipFile(%r)' % path
    return '\n'.join(Archive(path, opened, 'z.open(%r)', 'z.namelist()', z, files, z.open).profile(facts))


def is_tar(path, raw):
    """One without a mark, as the oldest are, has a checksum."""
    import tarfile
    summed = raw[:1] != b'\0' and re.match(rb'[ 0-7]{5,6}\0? ?\0?[ \0]', raw[148:156])
    return raw[257:262] == b'ustar' or bool(summed) and tarfile.is_tarfile(path)


def tar_members(path):
    import tarfile
    held, cut, more, until, t = {}, '', False, clock() + SECONDS, None
    try:
        t = tarfile.open(path)
        for m in itertools.islice(t, TAR_MOST):
            if m.isfile() and not of_mac(m.name):
                held[m.name] = m
            if clock() > until:
                break
        more = t.next() is not None
    except Exception as e:              # one that is cut short ends where it ends
        TROUBLE.append('the archive cannot be read to its end')
        cut = '; it cannot be read further: ' + clean(e, 80)
    files = [(name, m.size) for name, m in held.items()]
    opened = 'import io, tarfile; t = tarfile.open(%r)' % path
    shown = ', '.join('%s (%d bytes)' % (clean(name, 80), size) for name, size in files[:20])
    number = 'over ' * more + count(len(files), 'file')
    facts = ['a tar archive of %s: %s%s' % (number, clean(shown, LISTED), cut)]
    names = '[]' if more else 't.getnames()'
    return '\n'.join(Archive(path, opened, 't.extractfile(%r)', names, t, files,
                             lambda name: t.extractfile(held[name])).profile(facts))
