/* request_images.c - the images of a conversation as parts of messages. Chat completions take them in user
 * messages alone (a tool message is text at nearly every service), so those of results follow in a user
 * message behind the last result; Mistral refuses that, and takes them in the result. Responses take them in
 * both. Shapes: openai/openai-python,
 * src/openai/types/chat/chat_completion_content_part_image_param.py,
 * src/openai/types/responses/response_input_image_param.py and response_function_call_output_item_param.py.
 *
 * RULE: Which images are sent to a model, how large they are, and what is said in place of older ones, is
 *     decided here. Which of a cell are offered to it: agent/images.c.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "wire/request_parts.h"

static bool sees(const struct request_shape *s)
{
    return s->o->facts.vision && !s->learnt->no_images && s->learnt->api != API_WORKERS_AI;
}

/* How many images the first n turns have. */
static size_t images_before(const struct conversation *c, size_t n)
{
    size_t images = 0;

    for (size_t i = 0; i < n; i++)
        images += c->v[i].n_images;
    return images;
}

size_t request_first_image(const struct conversation *c, const struct llm_learnt *learnt)
{
    size_t most = learnt->few_images ? REQUEST_IMAGES_FEW : REQUEST_IMAGES, batch = most / 2;
    size_t all = images_before(c, c->n), over = all > most ? all - most : 0;

    return (over + batch - 1) / batch * batch;
}

static bool is_sent(const struct request_out *o, const struct turn *t, size_t image)
{
    const struct conversation *c = o->q->conversation;

    return sees(o->s) && t->images[image].png
           && images_before(c, (size_t)(t - c->v)) + image >= request_first_image(c, o->s->learnt);
}

size_t request_count_images(const struct conversation *c, const struct request_shape *s)
{
    const struct llm_request q = {.conversation = c};
    const struct request_out o = {.q = &q, .s = s};
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->v[i].n_images; k++)
            n += is_sent(&o, &c->v[i], k);
    return n;
}

char *request_text(const struct request_out *o, const struct turn *t)
{
    struct buf b = BUF_INIT(0);

    buf_addstr(&b, t->text);
    for (size_t i = 0; sees(o->s) && i < t->n_images; i++)
        if (!is_sent(o, t, i))
            buf_addf(&b, "\n[The image %s is not shown here%s.]", t->images[i].name,
                     t->images[i].spoilt ? "" : " any more");
    return buf_steal(&b, NULL);
}

static bool for_responses(const struct request_out *o)
{
    return o->s->learnt->api == API_RESPONSES;
}

static struct json *text_part(const struct request_out *o, const char *text)
{
    return json_object_of({"type", json_string(for_responses(o) ? "input_text" : "text")},
                          {"text", json_string(text)});
}

static struct json *image_part(const struct request_out *o, const char *png)
{
    autofree char *url = xasprintf("data:image/png;base64,%s", png);

    if (for_responses(o))
        return json_object_of({"type", json_string("input_image")}, {"detail", json_string("auto")},
                              {"image_url", json_string(url)});
    return json_object_of({"type", json_string("image_url")},
                          {"image_url", json_object_of({"url", json_string(url)})});
}

void request_images(struct request_out *o, const struct turn *t)
{
    for (size_t i = 0; i < t->n_images; i++) {
        const struct turn_image *image = &t->images[i];

        if (!is_sent(o, t, i))
            continue;
        autofree char *label = xasprintf(t->role == TURN_RESULT ? "[The image %s, made by the code:]"
                                                                : "[The image %s, attached by the user:]",
                                         image->name);
        if (!o->images)
            o->images = json_array();
        json_add(o->images, text_part(o, label));
        json_add(o->images, image_part(o, image->png));
        o->prompt += strlen(label) + IMAGE_AS_BYTES;
    }
}

struct json *request_parts_of(struct request_out *o, const char *text)
{
    autojson struct json *images = steal(&o->images);

    if (!images || !text || !*text)
        return steal(&images);
    struct json *parts = json_array_of(text_part(o, text));
    for (const struct json *p = json_first(images); p; p = json_next(p))
        json_add(parts, json_copy(p));
    return parts;
}

void request_user(struct request_out *o, const char *text)
{
    struct json *parts = request_parts_of(o, text);

    if (!text && !parts)
        return;
    struct json *m = request_message(o, "user", text ? text : "");
    if (parts)
        json_set(m, "content", parts);
}
