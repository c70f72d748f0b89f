/* cell_result.h - the result of one cell, plain data: the sandbox fills it in, EVENT_TOOL_RESULT carries it
 * to the listeners, and the agent puts it into words for the model.
 */
#ifndef CHAT_CELL_RESULT_H
#define CHAT_CELL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cell_status {
    CELL_OK,
    CELL_EXCEPTION,
    CELL_EXIT,
    CELL_TIMEOUT,
    CELL_INTERRUPTED,
    CELL_MEMORY,
    CELL_DIED,
    CELL_NOT_RUN,
    CELL_OUTPUT /* it wrote more than the limit on its output */
};

/* Why a file is there. Saved with sessions: numbers are never given anew. */
enum file_kind {
    FILE_MADE = 0,   /* the code wrote it */
    FILE_FIGURE = 1, /* a PNG of a figure that was open when the code ended */
    /* forms of the value of a last expression */
    FILE_VALUE_PNG = 2,
    FILE_VALUE_HTML = 3,
    FILE_VALUE_SVG = 4,
    FILE_FIGURE_FORM = 5, /* a figure as SVG or PDF */
};

struct cell_file {
    char *name; /* as made in /mnt/data (relative), repaired to valid UTF-8 */
    char *path; /* where the copy is on the host */
    uint64_t size;
    enum file_kind kind;
};

struct cell_result { /* strings are owned, and NULL where there is nothing to say */
    enum cell_status status;
    char *value;     /* repr of the last expression when it is not None. Capped */
    char *exception; /* "KeyError: 'x'", one line */
    char *traceback; /* the user's own frames */
    char *hint;      /* names that do exist; for the model */
    char *packages;  /* what it was the first to import: "python 3.11.2\nnumpy 1.24.2\n" */
    int line;        /* of the error in the cell; 0 unknown */
    int exit_code;   /* of SystemExit, of a command, or of the process that died; see cell_exit_code() */
    /* Three parts, which cell_what() joins to a line: which limit ended it and how much it had, or who
     * stopped it; what is left of the variables after that; what had been lost before it ran. */
    char *what, *left, *before;
    bool state_lost;     /* variables are gone */
    bool state_restored; /* the interpreter died and was restored from before the cell; not with state_lost */
    bool earlier;        /* that happened before this cell ran, so what the cell defined is there */
    bool ended;          /* the interpreter of another language ended with it; left says what that kept */
    bool files_lost;     /* /mnt/data is gone too, since the container was replaced; state_lost is set */
    bool files_back;     /* with files_lost: some files were put back, as left or before says */
    double seconds;
    uint64_t out_bytes, err_bytes; /* everything it wrote */
    char *output_path;             /* the full output on disk, where that is more than was shown */
    uint64_t output_kept;    /* bytes; not 0: there was no room for more, so it is not the full output */
    struct cell_file *files; /* made or changed, and copied out */
    size_t n_files;
    char *files_note; /* what was not delivered and why (too big, too many, a symlink) */
    /* the first of those that are the user's loss (too big to be copied, or the disk of this machine is
     * full): a line, its name inside, and a line that says what would have helped */
    char *undelivered, *undelivered_name, *undelivered_remedy;
};

void cell_result_release(struct cell_result *r);

/* The word of --json, serve, MCP and their schemas: "ok", "exception", ... */
const char *cell_status_name(enum cell_status s);
/* It did what it was to do; exit(0) counts. */
bool cell_succeeded(const struct cell_result *r);
/* As a shell has it: 128 + N after signal N, 124 after a time-out, 130 after an interrupt, 137 where memory
 * or output went over its limit, 125 where nothing was run. From 0 to 255. */
int cell_exit_code(const struct cell_result *r);
/* what, left and before as one line, or NULL: sentences, or, where only one of them is there, that as it is.
 * The caller frees. */
char *cell_what(const struct cell_result *r);
/* Why it failed, for the user: the traceback, or where a limit or the user ended it, that. NULL after
 * CELL_OK and where nothing is known. The caller frees. */
char *cell_error(const struct cell_result *r);

#endif
