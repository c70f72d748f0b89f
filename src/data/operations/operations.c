/* operations.c - the table in operations.json. */
#include "operations/operations.h"

#include <assert.h>
#include <string.h>

#include "base/embed.h"
#include "base/error.h"
#include "json/json.h"
#include "json/json_schema.h"

EMBED(operations_json, "src/data/operations/operations.json")

#define OPERATIONS_MAX 16

static struct operation table[OPERATIONS_MAX];
static size_t count;

/* The text is ours, so a fault in it is one of the build; the unit test reads it too. */
static void read_table(void)
{
    static struct json *document;

    if (document)
        return;
    document = json_parse(operations_json, EMBED_SIZE(operations_json), 0, NULL, NULL);
    assert(json_size(document) <= OPERATIONS_MAX);
    for (const struct json *o = json_first(document); o; o = json_next(o)) {
        const struct json *result = json_get(o, "result");

        if (json_str(result)) /* the same as that one's, which stands before it */
            result = operation_find(json_text(result))->result;
        table[count++] = (struct operation){
            .name = json_text(json_get(o, "name")),
            .title = json_text(json_get(o, "title")),
            .description = json_text(json_get(o, "description")),
            .arguments = json_get(o, "arguments"),
            .result = result,
        };
    }
}

const struct operation *operation_at(size_t i)
{
    read_table();
    return i < count ? &table[i] : NULL;
}

const struct operation *operation_find(const char *name)
{
    read_table();
    for (size_t i = 0; i < count; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    return NULL;
}

int operation_check(const struct operation *o, const struct json *arguments, struct error *err)
{
    autojson struct json *none = arguments ? NULL : json_object();

    return schema_check(o->arguments, arguments ? arguments : none, "", err);
}
