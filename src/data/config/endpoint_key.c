/* endpoint_key.c - finds the key for an endpoint: looks at each place in turn, and takes a key only where
 * binding.h allows it. */
#include "config/endpoint_key.h"

#include <ctype.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "process/child.h"

#define KEY_MAX        8192
#define KEY_COMMAND_MS 60000

const char *endpoint_variable(const struct config *c, const char *name, enum variable_place in,
                              struct source *from)
{
    const char *value = in & IN_ENVIRONMENT ? config_env(c, name) : NULL;

    if (value) {
        *from = (struct source){SOURCE_ENV, 0, name};
        return value;
    }
    const struct dotenv_entry *d = in & IN_DOTENV ? dotenv_get(&c->dotenv, name) : NULL;
    if (!d)
        return NULL;
    *from = (struct source){SOURCE_DOTENV, d->line, d->name};
    return d->value;
}

const char *endpoint_key_variable(const struct config *c, const struct provider *p, enum variable_place in,
                                  struct source *from)
{
    for (char *const *name = p->key_variable; *name; name++) {
        const char *value = endpoint_variable(c, *name, in, from);
        if (value)
            return value;
    }
    return NULL;
}

/* What was found at one place: a key, a command that prints it, or neither. */
struct found_key {
    const char *key;
    const struct argv *command;
    struct source from;
};

static struct found_key key_from(const struct config *c, const struct endpoint *e, enum key_origin origin)
{
    const struct provider *p = e->entry;
    const struct chosen *of_file = &c->choice[SOURCE_FILE].api_key;
    struct found_key f = {0};

    switch (origin) {
    case KEY_OPTION_ENV:
        f.key = endpoint_variable(c, "SANDPIPER_API_KEY", IN_ENVIRONMENT, &f.from);
        return f;
    case KEY_OPTION_FILE:
        if (of_file->value || !c->api_key_command.n)
            return (struct found_key){of_file->value, NULL, of_file->from};
        return (struct found_key){NULL, &c->api_key_command, *config_source(c, &c->api_key_command)};
    case KEY_VARIABLE_ENV:
        f.key = p ? endpoint_key_variable(c, p, IN_ENVIRONMENT, &f.from) : NULL;
        return f;
    case KEY_VARIABLE_DOTENV:
        f.key = p && !e->passed_over ? endpoint_key_variable(c, p, IN_DOTENV, &f.from) : NULL;
        return f;
    case KEY_ENTRY_FILE:
        if (p)
            f = (struct found_key){p->api_key,
                                   p->api_key || !p->api_key_command.n ? NULL : &p->api_key_command,
                                   {SOURCE_FILE, p->key_line, c->file}};
        return f;
    case KEY_ORIGINS:
        break;
    }
    return f;
}

/* Copy the key without blanks around it. A line break inside is refused, since it would end the header. */
static int clean_key(const char *key, const char *where, char **out, struct error *err)
{
    static const char blanks[] = " \t\n\v\f\r";

    key += strspn(key, blanks);
    size_t len = trimmed_length(key, strlen(key), blanks);
    if (len > KEY_MAX)
        return error_set(err, ERROR_USAGE, 0, "%s: the key is too long (%zu bytes, at most %d)", where, len,
                         KEY_MAX);
    for (size_t i = 0; i < len; i++)
        if (!isgraph((unsigned char)key[i]))
            return error_set(err, ERROR_USAGE, 0, "%s: the key contains an invalid character (byte %zu)",
                             where, i + 1);
    *out = len ? xmemdup0(key, len) : NULL;
    return 0;
}

int endpoint_choose_key(struct config *c, struct endpoint *e, struct error *err)
{
    for (int o = 0; o < KEY_ORIGINS && !e->key_name; o++) {
        const struct found_key f = key_from(c, e, (enum key_origin)o);

        if (!f.key && !f.command)
            continue;
        autofree char *text = source_text(&f.from);
        if (!binding_allows(&e->binding, (enum key_origin)o)) {
            autofree char *url = source_text(&e->url_source);
            xreplace(&e->unbound,
                     xasprintf("the key from %s is not sent to %s (URL from %s): a key is sent only to a "
                               "URL set in the same place",
                               text, e->base_url, url));
            continue;
        }
        e->key_source = f.from;
        e->key_command = f.command;
        e->key_name = xstrdup(f.from.kind == SOURCE_ENV ? f.from.name : text);
        if (f.key && clean_key(f.key, text, &e->key, err) < 0)
            return -1;
    }
    if (!e->key_name)
        e->key_name = xstrdup(e->binding.url != URL_OPTION && e->entry && e->entry->key_variable[0]
                                  ? e->entry->key_variable[0]
                                  : "SANDPIPER_API_KEY");
    else
        free(steal(&e->unbound));
    return 0;
}

int endpoint_fetch_key(struct endpoint *e, struct loop *loop, struct error *err)
{
    int status = -1;

    if (e->key || !e->key_command)
        return 0;
    struct child *c = child_run(&(struct child_options){.argv = e->key_command->v,
                                                        .watch = {.loop = loop},
                                                        .deadline_ms = KEY_COMMAND_MS,
                                                        .in = CHILD_NULL,
                                                        .out = CHILD_KEPT,
                                                        .err = CHILD_KEPT,
                                                        .cap = KEY_MAX},
                                err);
    if (!c) {
        err->kind = err->kind == ERROR_CANCELLED ? ERROR_CANCELLED : ERROR_USAGE;
        return error_wrap(err, "api_key_command");
    }
    if (c->timed_out) {
        error_set(err, ERROR_USAGE, 0, "api_key_command: %s did not end within %d s", e->key_command->v[0],
                  KEY_COMMAND_MS / 1000);
    } else if (!child_ok(c)) {
        autofree char *said = scrub_line(buf_str(&c->err_text), SCRUB_TERMINAL);
        error_set(err, ERROR_USAGE, 0, "api_key_command: %s failed: %s%s%.200s", e->key_command->v[0],
                  child_status_text(c->status).text, *said ? ": " : "", said);
    } else {
        if (c->out_text.data)
            c->out_text.data[strcspn(c->out_text.data, "\n")] = '\0';
        status = clean_key(buf_str(&c->out_text), "api_key_command", &e->key, err);
        if (status == 0 && !e->key)
            status = error_set(err, ERROR_USAGE, 0, "api_key_command: %s printed nothing on its first line",
                               e->key_command->v[0]);
    }
    if (c->out_text.data)
        explicit_bzero(c->out_text.data, c->out_text.len);
    child_free(c);
    return status;
}
