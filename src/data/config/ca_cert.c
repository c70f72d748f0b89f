/* ca_cert.c - checks the file of certificates that the user names before anything is asked, so that a wrong
 * one is a plain error.
 */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"

#define FILE_MOST ((size_t)16 << 20)

/* Does the text contain a certificate in PEM form? Its base64 is an ASN.1 sequence, which always begins with
 * M. */
static bool has_certificate(const char *text)
{
    static const char *const heads[] = {
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN TRUSTED CERTIFICATE-----",
        "-----BEGIN X509 CERTIFICATE-----",
    };

    for (size_t i = 0; i < countof(heads); i++) {
        const char *p = strstr(text, heads[i]);

        if (p && p[strlen(heads[i]) + strspn(p + strlen(heads[i]), " \r\n")] == 'M' && strstr(p, "-----END "))
            return true;
    }
    return false;
}

int config_check_ca_cert(const struct config *c, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(FILE_MOST);

    if (!c->front.ca_cert)
        return 0;
    autofree char *from = source_text(config_source(c, &c->front.ca_cert));
    if (file_read(c->front.ca_cert, FILE_MOST, &text, err) < 0) {
        err->kind = ERROR_USAGE;
        return error_wrap(err, "%s", from);
    }
    if (has_certificate(buf_str(&text)))
        return 0;
    const char *step = text.len > 1 && !memcmp(text.data, "\x30\x82", 2)
                           ? "Convert it to PEM: openssl x509 -inform der -in FILE -out FILE.pem"
                           : "It must be in PEM format, with -----BEGIN CERTIFICATE-----";
    return error_set(err, ERROR_USAGE, 0, "%s: %.300s contains no certificate\n%s", from, c->front.ca_cert,
                     step);
}
