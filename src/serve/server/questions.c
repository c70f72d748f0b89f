/* questions.c - the routes that ask a model, as data. */
#include "server/questions.h"

#include "base/mem.h"
#include "json/json.h"
#include "openai/shape.h"
#include "server/questions_private.h"

#define CHAT_BODY_MAX JSON_BYTES /* images come in it */

static const char ask_body[] =
    "{\"type\": \"object\", \"required\": [\"input\"], \"additionalProperties\": false, \"properties\": {"
    "\"input\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1048576, \"description\": \"The "
    "question\"},"
    "\"session\": {\"type\": \"string\", \"description\": \"Of an earlier answer, to continue it\"},"
    "\"files\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"type\": \"object\", \"required\": "
    "[\"name\", "
    "\"content\"], \"additionalProperties\": false, \"properties\": {"
    "\"name\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 255}, \"content\": {\"type\": "
    "\"string\"},"
    "\"encoding\": {\"type\": \"string\", \"enum\": [\"text\", \"base64\"]}}, " SCHEMA_BASE64
    "}, \"description\": \"Data for the code, shown to the "
    "model\"},"
    "\"model\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 200, \"description\": \"Which one "
    "answers; without it the usual one\"},"
    "\"effort\": {\"type\": \"string\", \"enum\": [\"none\", \"minimal\", \"low\", \"medium\", \"high\", "
    "\"xhigh\", \"max\"], \"description\": \"How long the model thinks\"},"
    "\"system\": {\"type\": \"string\", \"maxLength\": 1048576, \"description\": \"Instructions for the "
    "model\"}}}";

static const char ask_result[] =
    "{\"type\": \"object\", \"required\": [\"output\", \"session\", \"files\", \"usage\", \"computed\", "
    "\"status\", "
    "\"steps\"], \"properties\": {"
    "\"output\": {\"type\": \"string\", \"description\": \"The answer\"},"
    "\"session\": {\"type\": \"string\", \"description\": \"Id of the sandbox and the conversation\"},"
    "\"files\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"properties\": {\"name\": "
    "{\"type\": "
    "\"string\"}, \"size\": {\"type\": \"integer\"}, \"url\": {\"type\": \"string\"}}}},"
    "\"usage\": {\"type\": \"object\"}, \"computed\": {\"type\": [\"object\", \"null\"], \"description\": "
    "\"Where the "
    "answer's numbers come from\"},"
    "\"status\": {\"type\": \"string\"}, \"error\": {\"type\": [\"string\", \"null\"]},"
    "\"model\": {\"type\": [\"string\", \"null\"]}, \"notices\": {\"type\": \"array\", \"items\": {\"type\": "
    "\"string\"}},"
    "\"steps\": {\"type\": \"array\", \"description\": \"What the code did\", \"items\": {\"type\": "
    "\"object\", "
    "\"properties\": {\"code\": {\"type\": [\"string\", \"null\"]}, \"status\": {\"type\": \"string\"}, "
    "\"output\": "
    "{\"type\": [\"string\", \"null\"]}, \"error\": {\"type\": [\"string\", \"null\"]}, \"seconds\": "
    "{\"type\": "
    "\"number\"}}}}}}";

static const struct route rows[] = {
    {"POST", "/ask", "ask", "Ask a question; the model runs code to answer it", .body = ask_body,
     .result = ask_result, .handle = ask_route, .body_max = CHAT_BODY_MAX, .stream = "text/event-stream",
     .also = "404 410 502"},
    {"POST", "/v1/chat/completions", "create_chat_completion", "Ask as with OpenAI's chat completions",
     .body = "{\"type\": \"object\"}", .handle = completions_route, .flags = ROUTE_HIDDEN,
     .data = &openai_chat, .body_max = CHAT_BODY_MAX, .failure = openai_failure},
    {"POST", "/v1/responses", "create_response", "Ask as with OpenAI's Responses API",
     .body = "{\"type\": \"object\"}", .handle = completions_route, .flags = ROUTE_HIDDEN,
     .data = &openai_responses, .body_max = CHAT_BODY_MAX, .failure = openai_failure},
    {"GET", "/v1/models", "list_models", "List the models, as OpenAI does", .handle = models_route,
     .flags = ROUTE_HIDDEN, .failure = openai_failure},
    {"GET", "/v1/models/{model...}", "retrieve_model", "Describe one model, as OpenAI does",
     .handle = model_route, .flags = ROUTE_HIDDEN, .failure = openai_failure},
};

void question_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
