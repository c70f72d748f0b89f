/* index.h - where packages come from, as this machine has it: variables of uv and pip, and pip's files. */
#ifndef PACKAGES_INDEX_H
#define PACKAGES_INDEX_H

struct argv;
struct buf;

/* Append "NAME=VALUE" for uv and for pip: index, proxy, certificates, and nothing else of our environment. */
void index_environment(struct argv *out);
/* The values alone, which tell one index from another; for a key. */
void index_describe(struct buf *out);
/* What [global] and [install] of a file of pip's set to this key; NULL. The last one counts. Of several
 * lines the values are joined with a blank. The caller frees. */
char *index_of_pip(const char *text, const char *key);

#endif
