/* draft.h - gives a text to another program, such as an editor, as a file. The file is alone in a folder of
 * its own (0700) below XDG_RUNTIME_DIR, since editors put copies beside what they edit. Each process that
 * uses the text holds a lock on the folder, so a folder that nobody holds was left by killed programs.
 */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

struct buf;
struct error;

struct draft {
    char *folder, *path;
    int hold; /* pass it on to the other program: the folder is held until both are gone */
};
#define DRAFT_INIT ((struct draft){.hold = -1})

/* Write the text, with a newline behind it, to a new file, 0600. -1 with err. */
int draft_make(struct draft *d, const char *name, const struct buf *text, struct error *err);
void draft_remove(struct draft *d); /* also what draft_make left half-way; and after DRAFT_INIT */
/* Remove the folders that nobody holds. Returns how many there were. */
unsigned draft_sweep(void);

#endif
