/* sandbox_options.c - the defaults, and what is said of a file that is too large to copy out. */
#include "sandbox/sandbox_options.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/size.h"

void sandbox_defaults(struct sandbox_options *o)
{
    *o = (struct sandbox_options){
        .max_files_total = INT64_C(1) << 30,
        .max_output = INT64_C(1) << 30,
        .cell_ms = 120000,
    };
    engine_defaults(&o->run);
    o->max_file = o->run.data_size;
}

void sandbox_fit(struct sandbox_options *o)
{
    struct engine_options usual;

    engine_defaults(&usual);
    o->run.tmp_size = usual.tmp_size < o->run.memory / 8 ? usual.tmp_size : o->run.memory / 8;
    o->run.file_size = usual.file_size > o->run.data_size ? usual.file_size : o->run.data_size;
}

int64_t sandbox_most_delivered(const struct sandbox_options *o)
{
    int64_t least = INT64_C(64) << 20, data = o->run.data_size;
    int64_t most = o->max_file > data / 4 ? data : 4 * o->max_file;

    return most < least ? least : most;
}

int sandbox_too_large(const char *name, const char *more, int64_t size, int64_t most, struct error *err)
{
    return error_set(err, ERROR_USAGE, ENOSPC,
                     "%s is too large for the sandbox: %s%" PRId64 " bytes; /mnt/data holds %s\n"
                     "Start with --mount DIR to have it read where it is, or with a larger --data-size.",
                     name, more, size, size_text(most).text);
}
