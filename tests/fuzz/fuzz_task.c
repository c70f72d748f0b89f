/* fuzz_task.c - a question as a JSON object: read with a question and a bounded number of files, or refused
 * with ERROR_USAGE and left empty. */
#include "tests/fuzz/fuzz.h"

#include "base/error.h"
#include "base/utf8.h"
#include "conversation/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    struct error e = {0};
    struct task t = {0};

    task_is(text, size);
    if (task_read("the line", text, size, &t, &e) < 0) {
        check(e.kind == ERROR_USAGE && e.text[0] && utf8_valid(e.text, strlen(e.text)));
        check(!t.question && !t.id && t.files.n == 0);
    } else {
        check(t.question && utf8_valid(t.question, strlen(t.question)) && t.files.n <= TASK_FILES_MAX);
        for (size_t i = 0; i < t.files.n; i++)
            check(t.files.v[i][0]);
    }
    task_release(&t);
    free(text);
    return 0;
}
