/* layer_dotenv.c - reads the .env of the working directory into struct config. The directory may be hostile,
 * so only a short list of names may be set. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/layers.h"

bool providers_variable(const struct config *c, const char *name)
{
    autofree char *braced = xasprintf("{%s}", name);
    const struct providers *known = config_providers(c);

    for (size_t i = 0; i < known->n; i++) {
        const struct provider *p = &known->v[i];
        for (char *const *k = p->key_variable; *k; k++)
            if (!strcmp(*k, name))
                return true;
        if ((p->url_variable && !strcmp(p->url_variable, name))
            || (p->host_variable && !strcmp(p->host_variable, name)) || strstr(p->base_url, braced))
            return true;
    }
    return false;
}

/* Variables that would change how we reach or trust the endpoint: never accepted from a folder. */
static bool dangerous(const char *name)
{
    static const char *const names[] = {"HTTP_PROXY",     "HTTPS_PROXY",        "ALL_PROXY",
                                        "NO_PROXY",       "SSL_CERT_FILE",      "SSL_CERT_DIR",
                                        "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSLKEYLOGFILE",
                                        "CURL_HOME",      "LD_PRELOAD",         "LD_LIBRARY_PATH"};

    for (size_t i = 0; i < countof(names); i++)
        if (!strcasecmp(names[i], name))
            return true;
    return !strncmp(name, "SANDPIPER_", 10);
}

int config_apply_dotenv(struct config *c, const char *text, size_t len, struct error *err)
{
    if (dotenv_parse(&c->dotenv, text, len, err) < 0)
        return -1;
    sha256_hex(text, len, c->dotenv_digest);
    if (c->dotenv.bad == 1)
        argv_pushf(&c->notices, ".env:%d: skipped: not of the form NAME=value", c->dotenv.bad_line);
    else if (c->dotenv.bad)
        argv_pushf(&c->notices, ".env:%d: skipped, with %zu more lines: not of the form NAME=value",
                   c->dotenv.bad_line, c->dotenv.bad - 1);
    for (size_t i = 0; i < c->dotenv.n; i++) {
        struct dotenv_entry *e = &c->dotenv.v[i];
        const struct option *o = option_by_env(e->name);

        if (o && o->dotenv) {
            autofree char *where = xasprintf(".env:%d: %s", e->line, e->name);
            const struct setting s = {o, e->value, where, {SOURCE_DOTENV, e->line, e->name}};
            if (*e->value && config_set(c, &s, err) < 0)
                return -1;
        } else if (!providers_variable(c, e->name)) {
            if (dangerous(e->name))
                argv_pushf(&c->notices,
                           ".env:%d: %.60s is ignored: .env may only set provider, model, key and base URL",
                           e->line, e->name);
            explicit_bzero(e->value, strlen(e->value)); /* we have no use for it, and it may be a secret */
        }
    }
    return 0;
}

int config_load_dotenv(struct config *c, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    struct stat link, st;

    if (lstat(".env", &link) < 0)
        return 0;
    if (link.st_uid != geteuid())
        return error_set(err, ERROR_USAGE, 0,
                         ".env belongs to another user (uid %u) and was not read\n"
                         "Use --dotenv ignore, or start in another folder.",
                         (unsigned)link.st_uid);
    autoclose int fd = open(".env", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (errno != ENOENT)
            argv_pushf(&c->notices, ".env cannot be read: %s", strerror(errno));
        return 0;
    }
    if (S_ISDIR(st.st_mode)) /* it is a virtual environment */
        return 0;
    if (!S_ISREG(st.st_mode)) {
        argv_push(&c->notices, ".env is not a regular file; it was not read");
        return 0;
    }
    if (st.st_uid != geteuid())
        return error_set(err, ERROR_USAGE, 0,
                         ".env is a link to a file of another user (uid %u) and was not read\n"
                         "Use --dotenv ignore, or start in another folder.",
                         (unsigned)st.st_uid);
    if (file_read_open(fd, ".env", DOTENV_MAX, &text, err) < 0)
        return -1;
    return config_apply_dotenv(c, buf_str(&text), text.len, err);
}
