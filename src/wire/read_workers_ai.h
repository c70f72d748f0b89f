/* read_workers_ai.h - Cloudflare's own API: the model is a part of the URL, the answer lies in an envelope
 * (choice.c reads it). Facts: developers.cloudflare.com/workers-ai (get-started/rest-api,
 * models/gpt-oss-120b, ai-gateway/usage/providers/workersai), and the messages that cloudflare/ai sends
 * (packages/workers-ai-provider/src/convert-to-workersai-chat-messages.ts).
 */
#ifndef WIRE_READ_WORKERS_AI_H
#define WIRE_READ_WORKERS_AI_H

struct error;

/* base may be the account's URL, the one of its chat completions (.../ai/v1), .../ai, .../ai/run, or a
 * gateway's .../workers-ai. The caller frees; NULL with err (ERROR_USAGE). */
char *workers_ai_url(const char *base, const char *model, struct error *err);
/* The model's name out of such a URL; NULL when there is none. The caller frees. */
char *workers_ai_model(const char *url);

#endif
