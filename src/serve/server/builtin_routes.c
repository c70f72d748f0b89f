/* builtin_routes.c - the routes about the server itself: its health, its metrics for Prometheus, its API as
 * a page and as OpenAPI. */
#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "base/mem.h"
#include "json/json.h"
#include "front/runners.h"
#include "server/private.h"

EMBED(docs_html, "src/serve/server/docs.html")
EMBED(docs_js, "src/serve/server/docs.js")
EMBED(docs_css, "src/serve/server/docs.css")

static void health(struct http_request *q)
{
    answer_json(q, 200,
                json_object_of({"status", json_string(q->s->draining ? "draining" : "ok")},
                               {"name", json_string("sandpiper")}, {"version", json_string(VERSION)}));
}

static void figure(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    buf_addf(out, "# HELP sandpiper_%s %s\n# TYPE sandpiper_%s %s\nsandpiper_%s %.15g\n", name, help, name,
             type, name, value);
}

static void sandbox_figures(struct runners *rs, struct buf *out)
{
    struct runners_counts n;

    runners_counts(rs, &n);
    figure(out, "sandboxes", "gauge", "Sandboxes that clients have.", n.held);
    figure(out, "sandboxes_busy", "gauge", "Sandboxes that are running something.", n.busy);
    figure(out, "sandboxes_ready", "gauge", "Sandboxes waiting in the pool.", n.pool);
    figure(out, "sandboxes_parked", "gauge",
           "Sandboxes of finished questions, which give way to whoever needs one.", n.spare);
    figure(out, "requests_waiting", "gauge", "Requests that wait for a sandbox.", n.waiting);
    figure(out, "sandboxes_created_total", "counter", "Sandboxes given to clients.", (double)n.created);
    figure(out, "sandboxes_from_pool_total", "counter",
           "Sandboxes given to clients that had been started in advance.", (double)n.from_pool);
    figure(out, "sandboxes_expired_total", "counter", "Sandboxes that expired unused.", (double)n.expired);
    figure(out, "sandboxes_stopped_total", "counter", "Sandboxes that a client ended.", (double)n.stopped);
    figure(out, "sandboxes_gave_way_total", "counter",
           "Sandboxes of finished questions that were ended for another one.", (double)n.gave_way);
    figure(out, "sandboxes_found_total", "counter", "Sandboxes of an earlier server, found again.",
           (double)n.found_again);
    figure(out, "runners_died_total", "counter", "Processes of sandboxes that ended by themselves.",
           (double)n.died);
    histogram_print(&n.waited, HISTOGRAM_SECONDS, "sandpiper_sandbox_wait_seconds",
                    "How long requests waited for a new sandbox.", out);
}

static void metrics(struct http_request *q)
{
    const struct server_counts *c = &q->s->counts;
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    sandbox_figures(http_request_runners(q), &out);
    figure(&out, "connections", "gauge", "Connections that are open.", q->s->n_connections);
    figure(&out, "connections_total", "counter", "Connections since the start.", (double)c->connections);
    figure(&out, "requests_running", "gauge", "Requests waiting for their answer.", q->s->in_flight);
    figure(&out, "requests_total", "counter", "Requests since the start.", (double)c->requests);
    figure(&out, "requests_abandoned_total", "counter", "Requests whose client left before the answer.",
           (double)c->gone);
    figure(&out, "request_seconds_total", "counter", "Time from the headers to the end of the answer.",
           c->seconds.sum);
    histogram_print(&c->seconds, HISTOGRAM_SECONDS, "sandpiper_request_seconds",
                    "Time from the headers to the end of the answer.", &out);
    histogram_print(&c->question_seconds, HISTOGRAM_SECONDS, "sandpiper_question_seconds",
                    "Time from the headers to the answer of a question.", &out);
    histogram_print(&c->tokens, HISTOGRAM_TOKENS, "sandpiper_question_tokens",
                    "Tokens of each answered question, input and output together.", &out);
    histogram_print(&c->cost, HISTOGRAM_DOLLARS, "sandpiper_question_dollars",
                    "What each answered question has cost, where the price is known.", &out);
    buf_addstr(&out, "# HELP sandpiper_answers_total Responses by class of status code.\n"
                     "# TYPE sandpiper_answers_total counter\n");
    for (size_t i = 2; i < STATUS_CLASSES; i++)
        buf_addf(&out, "sandpiper_answers_total{status=\"%zuxx\"} %llu\n", i,
                 (unsigned long long)c->answers[i]);
    answer_text(q, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&out), out.len);
}

static void openapi(struct http_request *q)
{
    answer_json(q, 200, describe_routes(q->s, http_request_base(q), false));
}

static void every_route(struct http_request *q)
{
    answer_json(q, 200, describe_routes(q->s, http_request_base(q), true));
}

/* The page may load its style, its script and the routes from here, and nothing from elsewhere. */
static void docs(struct http_request *q)
{
    answer_header(q, "Content-Security-Policy",
                  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
                  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    answer_text(q, 200, "text/html; charset=utf-8", docs_html, EMBED_SIZE(docs_html));
}

static void docs_script(struct http_request *q)
{
    answer_text(q, 200, "text/javascript; charset=utf-8", docs_js, EMBED_SIZE(docs_js));
}

static void docs_style(struct http_request *q)
{
    answer_text(q, 200, "text/css; charset=utf-8", docs_css, EMBED_SIZE(docs_css));
}

/* People look for the API there, too. */
static void redoc(struct http_request *q)
{
    answer_header(q, "Location", "docs");
    answer_text(q, 308, "text/plain; charset=utf-8", "", 0);
}

static const struct route rows[] = {
    {"GET", "/", "health", "Is the server up?", .handle = health, .flags = ROUTE_PUBLIC},
    {"GET", "/docs", "docs", "This API as a page", .handle = docs, .flags = ROUTE_PUBLIC,
     .type = "text/html"},
    {"GET", "/docs/page.js", "docs_script", "The script of that page", .handle = docs_script,
     .flags = ROUTE_PUBLIC | ROUTE_HIDDEN},
    {"GET", "/docs/page.css", "docs_style", "The style of that page", .handle = docs_style,
     .flags = ROUTE_PUBLIC | ROUTE_HIDDEN},
    {"GET", "/docs/routes.json", "docs_routes", "Every route, for that page", .handle = every_route,
     .flags = ROUTE_PUBLIC | ROUTE_HIDDEN},
    {"GET", "/redoc", "redoc", "Leads to that page", .handle = redoc, .flags = ROUTE_PUBLIC | ROUTE_HIDDEN},
    {"GET", "/openapi.json", "openapi", "This API as OpenAPI 3.1", .handle = openapi, .flags = ROUTE_PUBLIC},
    {"GET", "/metrics", "metrics", "Figures for Prometheus", .handle = metrics, .type = "text/plain"},
};

void builtin_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
