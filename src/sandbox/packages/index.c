/* index.c - the index, proxy and certificates of this machine. uv does not read pip's files, where most
 * people have theirs, so these are read here.
 */
#include "packages/index.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define PIP_CONF_BYTES (256 * 1024)

/* What is handed on under its own name. */
static const char *const handed[] = {
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_INDEX_STRATEGY",
    "UV_INSECURE_HOST",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    "UV_HTTP_TIMEOUT",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_CERT",
    "PIP_PROXY",
    "PIP_TRUSTED_HOST",
    "PIP_FIND_LINKS",
    "PIP_DEFAULT_TIMEOUT",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
};

static bool begins_section(const char *line, const char *name)
{
    size_t n = strlen(name);

    return *line == '[' && !strncmp(line + 1, name, n) && line[1 + n] == ']';
}

/* "key = value" or "key: value", as Python's configparser has it; NULL: another key. */
static const char *value_of_key(const char *line, const char *key)
{
    size_t n = strlen(key);

    if (strncasecmp(line, key, n) != 0)
        return NULL;
    line += n + strspn(line + n, " \t");
    return *line == '=' || *line == ':' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

char *index_of_pip(const char *text, const char *key)
{
    struct buf found = BUF_INIT(8192);
    bool ours = false, in_value = false;

    while (*text) {
        size_t len = strcspn(text, "\r\n");
        autofree char *line = xmemdup0(text, len);
        const char *value = ours ? value_of_key(line, key) : NULL;
        const char *more = in_value && strchr(" \t", *line) && *line ? line + strspn(line, " \t") : NULL;

        text += len + strspn(text + len, "\r\n");
        if (*line == '[')
            ours = begins_section(line, "global") || begins_section(line, "install");
        if (value)
            buf_clear(&found);
        in_value = value || more;
        value = value ? value : more;
        if (value && *value && *value != '#' && *value != ';')
            buf_addf(&found, "%s%s", found.len ? " " : "", value);
    }
    buf_trim(&found, " \t");
    if (found.len)
        return buf_steal(&found, NULL);
    buf_release(&found);
    return NULL;
}

/* pip's own files, the later the stronger. */
static void pip_files(struct argv *out)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME"),
               *named = getenv("PIP_CONFIG_FILE");

    argv_pushl(out, "/etc/xdg/pip/pip.conf", "/etc/pip.conf", NULL);
    if (home && *home == '/')
        argv_pushf(out, "%s/.pip/pip.conf", home);
    if (config && *config == '/')
        argv_pushf(out, "%s/pip/pip.conf", config);
    else if (home && *home == '/')
        argv_pushf(out, "%s/.config/pip/pip.conf", home);
    if (named && *named == '/')
        argv_push(out, named);
}

static void push_if(struct argv *out, const char *name, const char *value)
{
    if (value && *value)
        argv_pushf(out, "%s=%s", name, value);
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

/* From pip's files and variables, under uv's names and pip's own, where neither is set. */
static void push_from_pip(struct argv *out)
{
    static const struct {
        const char *key, *pip, *uv; /* uv NULL: uv has nothing like it */
        const char *unless;         /* or this is set for uv */
    } rows[] = {
        {"index-url", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"},
        {"extra-index-url", "PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX"},
        {"cert", "PIP_CERT", "SSL_CERT_FILE", "SSL_CERT_DIR"},
        {"proxy", "PIP_PROXY", "ALL_PROXY", "HTTPS_PROXY"},
        {"trusted-host", "PIP_TRUSTED_HOST", "UV_INSECURE_HOST", ""},
        {"find-links", "PIP_FIND_LINKS", NULL, ""},
    };
    struct argv files autorelease(argv_release) = ARGV_INIT;

    pip_files(&files);
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *value = xstrdup(is_set(rows[i].pip) ? getenv(rows[i].pip) : NULL);

        for (size_t k = 0; k < files.n && !is_set(rows[i].pip); k++) {
            struct buf text autorelease(buf_release) = BUF_INIT(PIP_CONF_BYTES);
            char *found = file_read(files.v[k], PIP_CONF_BYTES, &text, NULL) == 0
                              ? index_of_pip(buf_str(&text), rows[i].key)
                              : NULL;

            if (found)
                xreplace(&value, found);
        }
        if (!is_set(rows[i].pip))
            push_if(out, rows[i].pip, value);
        if (rows[i].uv && !is_set(rows[i].uv) && !is_set(rows[i].unless))
            push_if(out, rows[i].uv, value);
    }
}

/* A file of the user's own for uv, which names an index as pip.conf does. */
static void push_uv_file(struct argv *out)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME"), *named = getenv("UV_CONFIG_FILE");
    autofree char *path = named && *named == '/'     ? xstrdup(named)
                          : config && *config == '/' ? xasprintf("%s/uv/uv.toml", config)
                          : home && *home == '/'     ? xasprintf("%s/.config/uv/uv.toml", home)
                                                     : NULL;

    if (path && access(path, R_OK) == 0)
        argv_pushf(out, "UV_CONFIG_FILE=%s", path);
    else
        argv_push(out, "UV_NO_CONFIG=1");
}

/* UV_INDEX_NAME_USERNAME and UV_INDEX_NAME_PASSWORD, of an index that has that name. */
static bool names_credential(const char *variable)
{
    const char *eq = strchr(variable, '='),
               *under = eq ? memrchr(variable, '_', (size_t)(eq - variable)) : NULL;

    return under && !strncmp(variable, "UV_INDEX_", 9) && under > variable + 9
           && (!strncmp(under, "_USERNAME=", 10) || !strncmp(under, "_PASSWORD=", 10));
}

/* The user's names and passwords for indexes: for uv and pip, and for no sandbox. */
static void push_credentials(struct argv *out)
{
    const char *home = getenv("HOME"), *named = getenv("NETRC");
    autofree char *netrc = named && *named == '/' ? xstrdup(named)
                           : home && *home == '/' ? xasprintf("%s/.netrc", home)
                                                  : NULL;

    if (netrc && access(netrc, R_OK) == 0)
        argv_pushf(out, "NETRC=%s", netrc);
    for (char **v = environ; *v; v++)
        if (names_credential(*v))
            argv_push(out, *v);
}

void index_environment(struct argv *out)
{
    for (size_t i = 0; i < countof(handed); i++)
        push_if(out, handed[i], getenv(handed[i]));
    push_credentials(out);
    push_from_pip(out);
    push_uv_file(out);
}

void index_describe(struct buf *out)
{
    struct argv all autorelease(argv_release) = ARGV_INIT;

    index_environment(&all);
    for (size_t i = 0; i < all.n; i++)
        if (!names_credential(all.v[i])
            && (strstr(all.v[i], "INDEX") || strstr(all.v[i], "LINKS") || strstr(all.v[i], "CONFIG_FILE")))
            buf_addf(out, "%s\n", all.v[i]);
}
