#!/usr/bin/python3
# utf8_width.py - makes utf8_width.c from the Unicode database of the Python that runs it: utf8_width.py > utf8_width.c
import unicodedata as u
N=0x110000
zero=[];wide=[]
def w(c):
    ch=chr(c); cat=u.category(ch)
    if c==0xad: return 1
    if c==0: return 0
    if cat in('Mn','Me'): return 0
    if cat=='Cf' and not (0x600<=c<=0x605 or c in(0x6dd,0x70f,0x890,0x891,0x8e2,0x110bd,0x110cd)): return 0
    if 0x1160<=c<=0x11ff or 0xd7b0<=c<=0xd7c6 or 0xd7cb<=c<=0xd7fb: return 0
    if cat in('Zl','Zp'): return 0
    if c==0x115f or c==0x3164 : return 2
    if cat!='Cn' and u.east_asian_width(ch) in 'WF': return 2      # what is not assigned has "F" there
    return 1
def ranges(v):
    out=[];s=None
    for c in range(N):
        if c<0xa0: x=False
        else:
            x = W[c]==v
        if x and s is None: s=c
        if not x and s is not None: out.append((s,c-1)); s=None
    return out
W=[w(c) for c in range(N)]
# unassigned inside wide blocks and planes 2,3 are W by UAX 11
for a,b in((0x3400,0x4dbf),(0x4e00,0x9fff),(0xf900,0xfaff),(0x20000,0x2fffd),(0x30000,0x3fffd)):
    for c in range(a,b+1): W[c]=2
# Emoji added after this Unicode version: unassigned gaps of the emoji blocks are wide by default
for a,b in((0x1f6d8,0x1f6df),(0x1fa70,0x1faff)):
    for c in range(a,b+1): W[c]=2
for c in range(0xe0000,0xe1000): W[c]=0
def emit(name,r):
    print("static const struct range %s[] = {"%name)
    line="   "
    for a,b in r:
        t=" {0x%x, 0x%x},"%(a,b)
        if len(line)+len(t)>128: print(line); line="   "
        line+=t
    print(line); print("};\n")
print("""/* utf8_width.c - columns of a character in a terminal. Our own table, so that it holds without any
 * setlocale: categories Mn, Me and the invisible ones of Cf are zero wide, East Asian Width W and F are
 * two wide (UAX 11), all else one. Made from the Unicode character database, version %s, by
 * utf8_width.py; emoji assigned later count as wide by their block.
 */
#include "base/utf8.h"

#include "base/mem.h"

struct range {
    uint32_t first, last;
};
"""%u.unidata_version)
emit("zero",ranges(0)); emit("wide",ranges(2))
print("""static bool in_table(const struct range *t, size_t n, uint32_t cp)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (cp > t[mid].last)
            low = mid + 1;
        else if (cp < t[mid].first)
            n = mid;
        else
            return true;
    }
    return false;
}

int utf8_width(uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
        return 0;
    if (cp < 0x300)
        return 1;
    if (in_table(zero, countof(zero), cp))
        return 0;
    return in_table(wide, countof(wide), cp) ? 2 : 1;
}""")
