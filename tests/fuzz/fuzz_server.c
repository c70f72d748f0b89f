/* fuzz_server.c - what the server reads of a request by itself: where it listens, Host and Origin, the path,
 * the token, and JSON bodies on their way to an operation. The first byte picks which.
 */
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/address.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "operations/operations.h"
#include "server/guard.h"
#include "server/listen.h"
#include "base/percent.h"
#include "server/pattern.h"

static void listens(const char *text)
{
    struct listen_address a = {0}, again = {0};
    struct error e = {0};

    if (listen_parse(text, &a, &e) < 0) {
        check(e.kind == ERROR_USAGE && utf8_valid(e.text, strlen(e.text)));
        return;
    }
    check(!(a.loopback && a.wildcard) && (!a.local || (a.loopback && a.path[0])));
    autofree char *shown = listen_show(&a);
    const char *where = strncmp(shown, "http://", 7) == 0 ? shown + 7 : shown;
    check(listen_parse(where, &again, &e) == 0);
    check(a.local == again.local && a.loopback == again.loopback && a.wildcard == again.wildcard
          && a.port == again.port && strcmp(a.path, again.path) == 0);
}

/* On loopback only names of this machine with the server's port get in, however they are written. */
static void hosts(const char *text)
{
    static const char *const good[] = {"127.0.0.1:8000", "localhost:8000", "[::1]:8000"};
    struct listen_address a = {0};
    struct error e = {0};
    bool known = false;

    check(listen_parse("127.0.0.1:8000", &a, &e) == 0);
    if (guard_host(&a, NULL, text)) {
        const char *colon = strrchr(text, ':');
        for (size_t i = 0; i < 3; i++)
            known |= colon && strncasecmp(text, good[i], (size_t)(strrchr(good[i], ':') - good[i])) == 0;
        check(known && strtoul(colon + 1, NULL, 10) == 8000);
    }
    if (guard_origin(&a, NULL, text))
        check(strstr(text, "://") && guard_host(&a, NULL, strstr(text, "://") + 3));
    guard_fetch_site(text);
    guard_json(text);
}

static void one_path(const char *pattern, const char *path)
{
    struct pattern_params p;

    if (!pattern_match(pattern, path, &p))
        return;
    check(*path == '/');
    for (size_t i = 0; i < p.n; i++) {
        const char *v = p.at[i].value;
        bool rest = strstr(pattern, "...}") && i + 1 == p.n;
        check(*v && utf8_valid(v, strlen(v)) && (rest || !strchr(v, '/')));
        for (const char *s = v;; s += strcspn(s, "/") + 1) {
            size_t n = strcspn(s, "/");
            check(n > 0 && !(n == 1 && s[0] == '.') && !(n == 2 && s[0] == '.' && s[1] == '.'));
            if (!s[n])
                break;
        }
    }
    pattern_release(&p);
}

static void paths(const char *path)
{
    static const char *const patterns[] = {"/",
                                           "/files/{id}/{name...}",
                                           "/sandboxes/{id}",
                                           "/contexts/{a}/restart",
                                           "/v1/{a}/x/{b}/c/{path...}",
                                           "/run_code"};

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        one_path(patterns[i], path);
    autofree char *decoded = percent_decode(path, strlen(path), true);
    check(!decoded || strlen(decoded) <= strlen(path));
}

static void bodies(const char *text, size_t len)
{
    struct error e = {0};
    autojson struct json *body = json_parse(text, len, 0, NULL, &e);

    for (size_t i = 0; body && operation_at(i); i++)
        operation_check(operation_at(i), body, &e);
}

static void addresses(const uint8_t *data, size_t size)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (size >= 4) {
        memcpy(&v4.sin_addr, data, 4);
        bool open = address_is_public((const struct sockaddr *)&v4);
        check(!open || (data[0] != 127 && data[0] != 10 && data[0] != 0 && data[0] < 224));
    }
    if (size >= 16) {
        memcpy(&v6.sin6_addr, data, 16);
        check(!address_is_public((const struct sockaddr *)&v6) || data[0] >> 5 == 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *bytes = fuzz_exact(data + 1, size - 1), *text = xmemdup0(bytes, size - 1);
    switch (data[0] % 5) {
    case 0:
        listens(text);
        break;
    case 1:
        hosts(text);
        break;
    case 2:
        paths(text);
        break;
    case 3:
        addresses(data + 1, size - 1);
        break;
    default:
        bodies(bytes, size - 1);
    }
    free(text);
    free(bytes);
    return 0;
}
