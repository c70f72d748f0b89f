/* folder.c - looks the folder up in the file of answers, asks if it is not there, and writes the new line. */
#include "config/folder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/scrub.h"
#include "base/sha256.h"
#include "config/config.h"
#include "config/endpoint.h"

#define KEPT_MAX   ((size_t)256 * 1024)
#define KEPT_LINES 500 /* with very long paths fewer fit; the oldest are dropped */

static const char allow_word[] = "allow ", deny_word[] = "deny ";

/* "DIGEST PATH", with the digest of path and content. The path is only for people who read the file. The
 * caller frees it; NULL: the folder is gone. */
static char *identity(const struct config *c)
{
    struct buf both autorelease(buf_release) = BUF_INIT(0);
    char digest[SHA256_HEX];
    autofree char *folder = realpath(".", NULL);

    if (!folder)
        return NULL;
    buf_addf(&both, "%s/.env", folder);
    autofree char *shown = scrub_line(buf_str(&both), SCRUB_TERMINAL);
    buf_addch(&both, '\0');
    buf_addstr(&both, c->dotenv_digest);
    sha256_hex(both.data, both.len, digest);
    return xasprintf("%s %s", digest, shown);
}

static bool is_line(const char *line, size_t n, const char *word, const char *who)
{
    size_t w = strlen(word);

    return n >= w && !strncmp(line, word, w) && n - w == strlen(who) && !strncmp(line + w, who, n - w);
}

static enum folder_answer recall(const char *path, const char *who)
{
    struct buf kept autorelease(buf_release) = BUF_INIT(KEPT_MAX);

    if (place_read(path, KEPT_MAX, &kept, NULL) < 0)
        return FOLDER_NOBODY;
    for (const char *p = buf_str(&kept); *p; p += strspn(p, "\n")) {
        size_t n = strcspn(p, "\n");

        if (is_line(p, n, allow_word, who))
            return FOLDER_ALLOWED;
        if (is_line(p, n, deny_word, who))
            return FOLDER_DENIED;
        p += n;
    }
    return FOLDER_NOBODY;
}

/* The same path with another digest is older content of that file. */
static bool same_path(const char *line, size_t n, const char *who)
{
    const char *path = strchr(who, ' ');
    size_t m = strlen(path);

    return n > m && !strncmp(line + n - m, path, m);
}

static int remember_answer(const char *path, const char *who, bool allowed, struct error *err)
{
    struct buf kept autorelease(buf_release) = BUF_INIT(KEPT_MAX);
    struct buf next autorelease(buf_release) = BUF_INIT(KEPT_MAX);
    int lines = 1;

    place_read(path, KEPT_MAX, &kept, NULL);
    buf_addf(&next, "%s%s\n", allowed ? allow_word : deny_word, who);
    for (const char *p = buf_str(&kept); *p && lines < KEPT_LINES; p += strspn(p, "\n")) {
        size_t n = strcspn(p, "\n");

        if (!same_path(p, n, who) && next.len + n + 1 < KEPT_MAX) {
            buf_addf(&next, "%.*s\n", (int)n, p);
            lines++;
        }
        p += n;
    }
    return place_write(path, buf_str(&next), next.len, err);
}

/* HOST or HOST:PORT of a URL that url_check() accepted. */
static char *host_of(const struct endpoint *e)
{
    const char *host = strstr(e->base_url, "//") + 2;
    autofree char *alone = xmemdup0(host, strcspn(host, "/?"));

    return scrub_line(alone, SCRUB_TERMINAL);
}

static enum folder_answer ask_user(struct config *c, const struct endpoint *e, struct error *err)
{
    autofree char *host = host_of(e);
    autofree char *question = xasprintf(
        "This folder's .env sends your questions to %.200s (%s); allow? [y/N] ", host, e->url_source.name);
    enum folder_answer answer = c->ask ? c->ask(c->ask_ctx, question) : FOLDER_NOBODY;

    if (answer == FOLDER_INTERRUPTED)
        error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (answer == FOLDER_NOBODY)
        error_set(
            err, ERROR_USAGE, 0,
            "this folder's .env sends your questions to %.200s (%s), and you have not allowed that\n"
            "Start sandpiper here at a terminal to be asked once, or use --dotenv allow or --dotenv ignore.",
            host, e->url_source.name);
    return answer;
}

enum folder_answer folder_verdict(struct config *c, const struct endpoint *e, struct error *err)
{
    autofree char *path = xdg_path(XDG_STATE, "folders"), *who = identity(c);
    enum folder_answer answer = path && who ? recall(path, who) : FOLDER_NOBODY;
    struct error why = {0};

    if (!strcmp(c->dotenv_how, "allow"))
        return FOLDER_ALLOWED;
    if (answer != FOLDER_NOBODY)
        return answer;
    answer = ask_user(c, e, err);
    if (answer > FOLDER_INTERRUPTED && path && who
        && remember_answer(path, who, answer == FOLDER_ALLOWED, &why) < 0)
        argv_pushf(&c->notices, "your answer about ./.env holds for this run only: %s", why.text);
    return answer;
}

void folder_leave_out(struct config *c)
{
    for (size_t i = 0; i < c->dotenv.n; i++) /* keep the names: sources point to them */
        explicit_bzero(c->dotenv.v[i].value, strlen(c->dotenv.v[i].value));
    c->choice[SOURCE_DOTENV] = (struct config_choice){0};
}

void folder_tell(struct config *c, const struct endpoint *e)
{
    const struct source *by = e->url_source.kind == SOURCE_DOTENV        ? &e->url_source
                              : e->provider_source.kind == SOURCE_DOTENV ? &e->provider_source
                              : e->key_source.kind == SOURCE_DOTENV      ? &e->key_source
                                                                         : NULL;

    if (!by)
        return;
    autofree char *url = scrub_line(e->base_url, SCRUB_TERMINAL);
    autofree char *line = xasprintf("Using %s from ./.env: %s at %.200s, %s", by->name, e->provider, url,
                                    e->key_source.kind == SOURCE_DOTENV ? "with the key in that file"
                                    : e->key || e->key_command          ? "with your key"
                                                                        : "without a key");
    if (e->by_folder)
        c->said = config_keep(c, line);
    else
        argv_push(&c->notices, line);
}
