/* cmd_models.c - "sandpiper models": prints the service's own list of models. If nothing is configured, the
 * lists of the servers on this machine. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ask/service.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "base/utf8.h"
#include "json/json.h"
#include "llm/models.h"
#include "main/command.h"
#include "process/loop.h"
#include "process/signals.h"
#include "show/show.h"

#define LIST_MS  15000
#define LOCAL_MS 1000 /* for a server on this machine that nobody named */
#define COLUMNS  7

struct model_listing {
    struct config *c;
    struct loop *loop;
    struct buf out;
    size_t listed;
    bool found; /* the server that a question would go to has been listed */
};

/* One model as the texts of its columns, with only the numbers that the service told. */
struct model_row {
    char *id; /* scrubbed */
    struct short_text window;
    char in[24], out[24], ends[16];
    const char *cells[COLUMNS]; /* point at the members above */
};
static void price_text(double v, char *out, size_t size)
{
    double cents = v * 100;

    if (v < 0)
        *out = '\0';
    else
        snprintf(out, size, fabs(cents - round(cents)) > 0.01 ? "%.3f" : "%.2f", v);
}

static void fill_row(struct model_row *r, const struct llm_model *m, const char *chosen)
{
    char *id = scrub_line(m->id, SCRUB_TERMINAL);

    *r = (struct model_row){.id = id,
                            .cells = {id, r->window.text,
                                      m->tools == 1   ? "yes"
                                      : m->tools == 0 ? "no"
                                                      : "",
                                      r->in, r->out, r->ends,
                                      chosen && !strcmp(m->id, chosen) ? "default" : ""}};
    if (m->context > 0)
        r->window = count_text(m->context);
    price_text(m->price_input, r->in, sizeof r->in);
    price_text(m->price_output, r->out, sizeof r->out);
    snprintf(r->ends, sizeof r->ends, "%s", m->ends);
}

static const char *const heads[COLUMNS] = {"MODEL", "WINDOW", "TOOLS", "$/M IN", "$/M OUT", "ENDS", ""};

/* Leave out a column for which nothing is told. Returns the total width. */
static int measure_columns(const struct model_row *rows, size_t n, int widths[COLUMNS])
{
    int all = 0;

    memset(widths, 0, COLUMNS * sizeof *widths);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < COLUMNS; k++) {
            const char *cell = rows[i].cells[k];
            int w = utf8_columns(cell, strlen(cell)), head = (int)strlen(heads[k]);

            if (w > 0 && w < head)
                w = head;
            if (w > widths[k])
                widths[k] = w;
        }
    for (int k = 0; k < COLUMNS; k++)
        all += widths[k] ? widths[k] + 2 * (k > 0) : 0;
    return all;
}

static void add_cells(struct buf *out, const char *const cells[COLUMNS], const int widths[COLUMNS])
{
    for (int k = 0; k < COLUMNS; k++) {
        int pad = widths[k] - utf8_columns(cells[k], strlen(cells[k]));
        bool right = k == 1 || k == 3 || k == 4; /* numbers */

        if (!widths[k])
            continue;
        buf_addf(out, "%s%*s%s%*s", k ? "  " : "", right ? pad : 0, "", cells[k], right ? 0 : pad, "");
    }
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
    buf_addch(out, '\n');
}

static void add_table(struct buf *out, const struct model_row *rows, size_t n, const int widths[COLUMNS])
{
    add_cells(out, heads, widths);
    for (size_t i = 0; i < n; i++)
        add_cells(out, rows[i].cells, widths);
}

/* For a narrow terminal: the name, with the details below it. */
static void add_paragraphs(struct buf *out, const struct model_row *rows, size_t n)
{
    static const char *const words[COLUMNS] = {"", "window ", "tools ", "$ in ", "$ out ", "ends ", ""};
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < n; i++) {
        const char *const *cells = rows[i].cells, *between = "\n    ";

        buf_addstr(&text, cells[0]);
        for (int k = 1; k < COLUMNS; k++)
            if (*cells[k]) {
                buf_addf(&text, "%s%s%s", between, words[k], cells[k]);
                between = ", ";
            }
        buf_addch(&text, '\n');
    }
    show_wrap_lines(out, buf_str(&text), 1);
}

static struct json *number(double v, bool told)
{
    return told ? json_number(v) : json_null();
}

static void print_model_json(struct model_listing *l, const struct endpoint *e, const struct llm_model *m,
                             const char *chosen)
{
    autojson struct json *o = json_object_of(
        {"id", json_string(m->id)}, {"provider", json_string(e->provider)},
        {"context", number(m->context, m->context > 0)},
        {"max_output", number(m->max_output, m->max_output > 0)},
        {"tools", m->tools >= 0 ? json_boolean(m->tools) : json_null()},
        {"price_input", number(m->price_input, m->price_input >= 0)},
        {"price_cached", number(m->price_cached, m->price_cached >= 0)},
        {"price_output", number(m->price_output, m->price_output >= 0)},
        {"ends", json_string(*m->ends ? m->ends : NULL)}, {"replaced_by", json_string(m->replaced_by)},
        {"default", json_boolean(chosen && !strcmp(m->id, chosen))});
    json_line(o, &l->out);
}

static int by_id(const void *a, const void *b)
{
    const struct llm_model *x = a, *y = b;
    int c = strcasecmp(x->id, y->id);

    return c ? c : strcmp(x->id, y->id);
}

/* Select the models that match TEXT of the command line; of two with the same name, the first. */
static size_t choose_models(struct llm_models *m, const char *text, const struct llm_model **out)
{
    size_t n = 0;

    if (m->n)
        qsort(m->v, m->n, sizeof *m->v, by_id);
    for (size_t i = 0; i < m->n; i++)
        if ((!text || strcasestr(m->v[i].id, text)) && (!n || strcmp(out[n - 1]->id, m->v[i].id) != 0))
            out[n++] = &m->v[i];
    return n;
}

static void add_heading(struct model_listing *l, const struct endpoint *e)
{
    autofree char *line = xasprintf("%s at %s", endpoint_title(e), e->base_url);
    autofree char *clean = scrub_line(line, SCRUB_TERMINAL);

    buf_addf(&l->out, "%s%s\n", l->out.len ? "\n" : "", clean);
}

static void add_rows(struct model_listing *l, const struct llm_model *const *chosen, size_t n,
                     const char *by_default)
{
    struct model_row *rows = xcalloc(n, sizeof *rows);
    int widths[COLUMNS];

    for (size_t i = 0; i < n; i++)
        fill_row(&rows[i], chosen[i], by_default);
    if (measure_columns(rows, n, widths) > (show_is_terminal(1) ? show_width(1) : INT32_MAX))
        add_paragraphs(&l->out, rows, n);
    else
        add_table(&l->out, rows, n, widths);
    for (size_t i = 0; i < n; i++)
        free(rows[i].id);
    free(rows);
}

static void list_models(struct model_listing *l, const struct endpoint *e, struct llm_models *m, bool heading)
{
    const struct llm_model **chosen = xcalloc(m->n + 1, sizeof *chosen);
    const char *by_default = l->found ? NULL : model_in_list(e, m);
    size_t n = choose_models(m, l->c->args.operand, chosen);

    l->listed += n;
    if (heading && n && !l->c->json)
        add_heading(l, e);
    for (size_t i = 0; i < n && l->c->json; i++)
        print_model_json(l, e, chosen[i], by_default);
    if (n && !l->c->json)
        add_rows(l, chosen, n, by_default);
    free(chosen);
}

static int get_models(struct model_listing *l, const struct llm_models_query *q, struct llm_models *m,
                      struct error *err)
{
    if (!l->c->offline)
        return llm_models_get(q, l->loop, m, err);
    if (llm_models_cached(q->base_url, MODELS_KEPT_S, m) == 0)
        return 0;
    return error_set(err, ERROR_USAGE, 0,
                     "no saved list of the models at %s\nLeave out --offline to fetch it.", q->base_url);
}

/* Nothing is configured: list every server on this machine that answers. */
static int list_local(struct model_listing *l, struct error *err)
{
    struct local_place places[LOCAL_MAX];
    size_t n = l->c->discover ? local_places(l->c, places) : 0, answered = 0;

    for (size_t i = 0; i < n && !loop_cancelled(l->loop); i++) {
        struct endpoint e = {.entry = places[i].provider,
                             .provider = places[i].provider->name,
                             .base_url = (char *)places[i].url,
                             .model = l->c->front.model};
        struct llm_models_query q;
        struct llm_models m;

        models_query(&e, LOCAL_MS, 0, &q);
        if (get_models(l, &q, &m, NULL) == 0) {
            list_models(l, &e, &m, true);
            l->found = l->found || m.n > 0;
            answered++;
        }
        llm_models_release(&m);
    }
    if (loop_cancelled(l->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    return answered ? 0 : none_configured("", err);
}

static int list_configured(struct model_listing *l, struct endpoint *e, struct error *err)
{
    struct llm_models_query q;
    struct llm_models m = {0};
    int status = l->c->offline ? 0 : endpoint_ready(e, l->loop, err);

    models_query(e, LIST_MS, 0, &q); /* again, now that the key is there */
    if (status == 0 && (status = get_models(l, &q, &m, err)) == 0)
        list_models(l, e, &m, false);
    llm_models_release(&m);
    return status;
}

static int run_models(struct model_listing *l, struct endpoint *e, struct error *err)
{
    if (endpoint_choose(l->c, e, err) < 0)
        return -1;
    print_notices(l->c);
    if ((e->found ? list_configured(l, e, err) : list_local(l, err)) < 0)
        return -1;
    if (l->listed)
        return 0;
    if (l->c->args.operand)
        return error_set(err, ERROR_API, 0, "no model name contains \"%.60s\"", l->c->args.operand);
    return error_set(err, ERROR_API, 0, "%s lists no models",
                     e->found ? e->base_url : "the server on this machine");
}

int cmd_models(struct config *c, int closed)
{
    struct model_listing l = {.c = c, .loop = loop_new(), .out = BUF_INIT(0)};
    struct endpoint e = {0};
    struct error err = {0};
    int status = loop_signals(l.loop, &err);

    (void)closed;
    c->ask = ask_about_folder;
    c->ask_ctx = l.loop;
    print_notices(c);
    if (status == 0)
        status = run_models(&l, &e, &err);
    if (status < 0)
        status = print_failure(&err);
    else
        status = (c->json ? print_json : print_out)(buf_str(&l.out), l.out.len);
    buf_release(&l.out);
    endpoint_release(&e);
    loop_free(l.loop);
    return status;
}
