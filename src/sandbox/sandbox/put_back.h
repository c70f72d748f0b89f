/* put_back.h - what a sandbox that had to be replaced gets back: the files and folders that the user added,
 * as they are now, and then the files of the code whose copy on this machine is unchanged. What only the code
 * could make, and was not copied out, stays lost.
 */
#ifndef SANDBOX_PUT_BACK_H
#define SANDBOX_PUT_BACK_H

#include <stdbool.h>

struct sandbox;

#define PUT_BACK_MAX 32 /* files and folders of the user's that are remembered, the latest */

struct put_back {
    struct put_back_file {
        char *name;
        int fd; /* ours */
    } v[PUT_BACK_MAX];
    unsigned n;
    bool due;  /* at the next wait for the sandbox */
    bool busy; /* it is being done */
};

/* The user's file fd has gone in under this name. A pipe cannot be read again and is not remembered. */
void put_back_keep(struct sandbox *s, const char *name, int fd);
/* "a.csv, out.png": what put_back() will try, at most 300 bytes; NULL for nothing. The caller frees. */
char *put_back_names(const struct sandbox *s);
/* Do it, if it is due. A notice tells what fails. False: the sandbox was lost meanwhile, so it stays due. */
bool put_back(struct sandbox *s);
void put_back_release(struct put_back *p);

#endif
