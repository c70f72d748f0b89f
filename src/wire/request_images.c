/* request_images.c - the images of a conversation as parts of messages. Chat completions take them in user
 * messages alone (a tool message is text at nearly every service), so those of results follow in a user
 * message behind the last result; Mistral refuses that, and takes them in the result. Responses take them in
 * both. Shapes: openai/openai-python,
 * src/openai/types/chat/chat_completion_content_part_image_param.py,
 * src/openai/types/responses/response_input_image_param.py and response_function_call_output_item_param.py.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "wire/request_parts.h"

static bool sees(const struct request_shape *s)
{
    return s->o->vision && !s->learnt->no_images && s->learnt->api != LLM_WORKERS_AI;
}

bool request_has_images(const struct conversation *c, const struct request_shape *s)
{
    for (size_t i = 0; sees(s) && i < c->n; i++)
        for (size_t k = 0; k < c->v[i].n_images; k++)
            if (c->v[i].images[k].png)
                return true;
    return false;
}

char *request_text(const struct request_out *o, const struct turn *t)
{
    struct buf b = BUF_INIT(0);

    buf_addstr(&b, t->text);
    for (size_t i = 0; sees(o->s) && i < t->n_images; i++)
        if (!t->images[i].png)
            buf_addf(&b, "\n[The image %s is not shown here%s.]", t->images[i].name,
                     t->images[i].spoilt ? "" : " any more");
    return buf_steal(&b, NULL);
}

static bool for_responses(const struct request_out *o)
{
    return o->s->learnt->api == LLM_RESPONSES;
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
    for (size_t i = 0; sees(o->s) && i < t->n_images; i++) {
        const struct turn_image *image = &t->images[i];

        if (!image->png)
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
