/* certificates.c - looks at the option, then at the variables, and sets libcurl's options for what it found.
 *
 * RULE: Who must have signed a server's certificate is what curl's users expect, and verification is never
 *     off.
 */
#include "llm/certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "wire/failure.h"

struct trust {
    const char *file, *dir; /* NULL: libcurl's own */
    char text[520];         /* where the user named them, for messages */
};

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* Where systems keep the certificates that they trust. A libcurl of another system, as in a wheel,
 * knows the place of that one alone: the first, which is Debian's. NULL: it knows the right one itself. */
static const char *of_system(void)
{
    static const char *const usual[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                        "/etc/ssl/cert.pem"};

    for (size_t i = 0; i < countof(usual); i++)
        if (access(usual[i], R_OK) == 0)
            return i ? usual[i] : NULL;
    return NULL;
}

static struct trust trust_of(const char *ca_cert)
{
    struct trust t = {.file = ca_cert};

    if (t.file) {
        snprintf(t.text, sizeof t.text, "--ca-cert %.200s", t.file);
        return t;
    }
    t.file = variable("CURL_CA_BUNDLE");
    if (t.file) {
        snprintf(t.text, sizeof t.text, "CURL_CA_BUNDLE=%.200s", t.file);
        return t;
    }
    t.file = variable("SSL_CERT_FILE");
    t.dir = variable("SSL_CERT_DIR");
    if (!t.file && !t.dir) {
        snprintf(t.text, sizeof t.text, "the system's certificates");
        t.file = of_system();
    } else {
        snprintf(t.text, sizeof t.text, "%s%.200s%s%s%.200s", t.file ? "SSL_CERT_FILE=" : "",
                 t.file ? t.file : "", t.file && t.dir ? ", " : "", t.dir ? "SSL_CERT_DIR=" : "",
                 t.dir ? t.dir : "");
    }
    return t;
}

CURLcode certificates_use(const struct curl_api *curl, CURL *easy, const char *ca_cert)
{
    struct trust t = trust_of(ca_cert);
    CURLcode rc = curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);

    rc = rc ? rc : curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    rc = rc ? rc : curl->easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (t.file)
        rc = rc ? rc : curl->easy_setopt(easy, CURLOPT_CAINFO, t.file);
    if (t.dir)
        rc = rc ? rc : curl->easy_setopt(easy, CURLOPT_CAPATH, t.dir);
    return rc;
}

bool certificates_refused(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_ISSUER_ERROR
           || code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_INVALIDCERTSTATUS
           || code == CURLE_SSL_CACERT_BADFILE;
}

bool certificates_describe(CURLcode code, const char *why, const char *host, const char *ca_cert,
                           struct failure *f)
{
    struct trust t = trust_of(ca_cert);

    if (!certificates_refused(code))
        return false;
    if (code == CURLE_SSL_CACERT_BADFILE) {
        failure_certain(f, REMEDY_CERTIFICATE_FILE, "no trusted certificates can be read (in use: %s)",
                        t.text);
    } else if (strcasestr(why, "expired")) {
        failure_certain(f, REMEDY_CERTIFICATE_OLD, "%s: its certificate has expired", host);
    } else if (strcasestr(why, "not yet valid")) {
        failure_certain(f, REMEDY_CLOCK, "%s: its certificate is not valid yet", host);
    } else if (strcasestr(why, "host name") || strcasestr(why, "hostname")) {
        failure_certain(f, REMEDY_CERTIFICATE_HOST, "%s: its certificate is for another host", host);
    } else {
        failure_certain(f, REMEDY_CERTIFICATE,
                        "%s: its certificate is not trusted: %s (trusted certificates: %s)", host, why,
                        t.text);
    }
    return true;
}
