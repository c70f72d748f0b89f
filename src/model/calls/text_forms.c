/* text_forms.c - the table: a row for each form in which a family of models writes calls or thoughts. */
#include "calls/text_forms.h"

#include "base/mem.h"

#define PARAMETER(p) "<" p "parameter name=\"" KEY "\"" ATTRIBUTES ">" VALUE "</" p "parameter>"
#define INVOKE(p) \
    "<" p "invoke name=\"" NAME "\"" ATTRIBUTES ">" EACH " " PARAMETER(p) AGAIN WHOLE " </" p "invoke>"
#define FENCE_OF(tag) FENCE " " tag LINE_END " "

const struct form text_forms[] = {
    /* JSON that includes the name: Hermes, Qwen 2.5, Granite 4; Llama 3; Granite 3, Phi-4; LFM 2; Mistral;
     * anyone */
    {FORM_CALL, .mark = "<tool_call> " CALLS},
    {FORM_CALL, .mark = "<tool_calls> " CALLS},
    {FORM_CALL, .mark = "<function_call> " CALLS},
    {FORM_CALL, .mark = "<functioncall> " CALLS},
    {FORM_CALL, .mark = "<tools> " CALLS},
    {FORM_CALL, .mark = "<|python_tag|> " CALLS},
    {FORM_CALL, .mark = "<|tool_call|> " CALLS},
    {FORM_CALL, .mark = "<|tool_call_start|> " CALLS},
    {FORM_CALL, .mark = "[TOOL_CALLS] " CALLS},
    {FORM_CALL, FORM_LINE, .mark = FENCE_OF("json") CALLS},
    {FORM_CALL, FORM_LINE, .mark = FENCE_OF("tool_call") CALLS},
    {FORM_CALL, FORM_LINE, .mark = FENCE_OF("tool_calls") CALLS},
    {FORM_CALL, FORM_LINE, .mark = FENCE_OF("tool_code") CALLS},
    {FORM_CALL, FORM_LINE, .mark = FENCE_OF("tool") CALLS},
    {FORM_CALL, FORM_START, .mark = FENCE_OF("") CALLS}, /* later in the text this may close another fence */
    {FORM_CALL, FORM_WORD, true, .mark = CALLS},

    /* a name, and its arguments as JSON */
    {FORM_CALL, .mark = "<function=" NAME "> " ARGUMENTS}, /* Llama 3 */
    {FORM_CALL, .mark = "<tool_call> " NAME " " ARGUMENTS},
    {FORM_CALL, .mark = "[TOOL_CALLS] " NAME " " ARGUMENTS}, /* Mistral */
    {FORM_CALL, .mark = "[TOOL_CALLS] " NAME " [ARGS] " ARGUMENTS},
    {FORM_CALL, .mark = "[TOOL_CALLS] " NAME " [CALL_ID] " KEY " [ARGS] " ARGUMENTS},
    {FORM_CALL, .mark = "<|tool_call_begin|> " NAME " <|tool_call_argument_begin|> " ARGUMENTS,
     .outer = {"<|tool_calls_section_begin|> "}}, /* Kimi K2 */
    {FORM_CALL, .mark = "<｜tool▁call▁begin｜> " NAME " <｜tool▁sep｜> " ARGUMENTS,
     .outer = {"<｜tool▁calls▁begin｜> "}}, /* DeepSeek V3.1 */
    {FORM_CALL, .mark = "<｜tool_call_begin｜> " NAME " <｜tool_sep｜> " ARGUMENTS,
     .outer = {"<｜tool_calls_begin｜> "}},
    {FORM_CALL, .mark = "<|tool▁call▁begin|> " NAME " <|tool▁sep|> " ARGUMENTS,
     .outer = {"<|tool▁calls▁begin|> "}},
    {FORM_CALL, .mark = "<｜tool▁call▁begin｜> function <｜tool▁sep｜> " NAME " ```json " ARGUMENTS,
     .outer = {"<｜tool▁calls▁begin｜> "}}, /* DeepSeek V3, R1 */

    /* a name, and each argument between tags: Qwen3-Coder, Seed-OSS; MiniMax M2, Claude; DeepSeek V3.2; GLM
     */
    {FORM_CALL,
     .mark = "<function=" NAME "> " EACH " <parameter=" KEY ">" VALUE "</parameter>" AGAIN WHOLE
             " </function>",
     .outer = {"<tool_call> ", "<seed:tool_call> "}},
    {FORM_CALL,
     .mark = "<function name=\"" NAME "\"" ATTRIBUTES ">" EACH " " PARAMETER("") AGAIN WHOLE " </function>",
     .outer = {"<tool_call> "}},
    {FORM_CALL, .mark = INVOKE(""), .outer = {"<minimax:tool_call> ", "<function_calls> ", "<tool_call> "}},
    {FORM_CALL, .mark = INVOKE("antml:"),
     .outer = {"<"
               "antml:function_calls> ",
               "<function_calls> "}},
    {FORM_CALL, .mark = INVOKE("｜DSML｜"), .outer = {"<｜DSML｜function_calls> ", "<｜DSML｜tool_calls> "}},
    {FORM_CALL, .mark = INVOKE("|DSML|"), .outer = {"<|DSML|function_calls> ", "<|DSML|tool_calls> "}},
    {FORM_CALL, .mark = "<tool_call> " NAME EACH " <arg_key> " KEY " </arg_key> <arg_value>" VALUE
                        "</arg_value>" AGAIN WHOLE " </tool_call>"},

    /* a call in Python's notation */
    {FORM_CALL, FORM_WORD, true, .mark = PYTHON_LIST}, /* Llama 4 */
    {FORM_CALL, .mark = "<|python_start|> " PYTHON_LIST},
    {FORM_CALL, .mark = "<|tool_call_start|> " PYTHON_LIST}, /* LFM 2 */
    {FORM_CALL, .mark = "<tool_call> " PYTHON_LIST},
    {FORM_CALL, .mark = "<|python_tag|> " PYTHON_CALL},
    {FORM_CALL, FORM_LINE, .mark = FENCE_OF("tool_code") EACH " " PYTHON_CALL AGAIN WHOLE}, /* Gemma */
    {FORM_CALL, FORM_LINE, .mark = FENCE_OF("tool_code") PYTHON_LIST},

    /* the code itself, only when its end was seen */
    {FORM_CALL, FORM_LINE, .mark = FENCE " tool_code" LINE_END FENCED}, /* Gemma */
    {FORM_CALL, .mark = "<|python_tag|>" CODE "<|eom_id|>"},            /* Llama 3 */
    {FORM_CALL, .mark = "<|python_tag|>" CODE "<|eot_id|>"},
    {FORM_CALL, .mark = "<function=" NAME ">" CODE "</function>"},

    /* harmony (gpt-oss), where its tokens were printed as text */
    {FORM_CALL, FORM_ANYWHERE, true, .mark = "<|channel|>" HARMONY},
    {FORM_CALL, FORM_ANYWHERE, true, .mark = "<|start|>" HARMONY},
    {FORM_CALL, FORM_START, true, .mark = "<|message|>" HARMONY},
    {FORM_CALL, FORM_START, true, .mark = "<|constrain|>" HARMONY},
    {FORM_CALL, FORM_LINE, true, .mark = "commentary to=" HARMONY},
    {FORM_CALL, FORM_LINE, true, .mark = "analysis to=" HARMONY},
    {FORM_CALL, FORM_START, true, .mark = "commentary<|" HARMONY},
    {FORM_CALL, FORM_START, true, .mark = "assistant<|channel|>" HARMONY},
    {FORM_CALL, FORM_LINE, true, .mark = "assistantcommentary to=" HARMONY},
    {FORM_CALL, FORM_LINE, true, .mark = "to=functions." HARMONY},

    {FORM_THOUGHT, .mark = "<think>", .close = "</think>"},
    {FORM_THOUGHT, .mark = "[THINK]", .close = "[/THINK]"}, /* Magistral */
    {FORM_THOUGHT, .mark = "<thought>", .close = "</thought>"},
    {FORM_THOUGHT, .mark = "<thinking>", .close = "</thinking>"},
    {FORM_THOUGHT, .mark = "<reasoning>", .close = "</reasoning>"},
    {FORM_THOUGHT, .mark = "<seed:think>", .close = "</seed:think>"},
    {FORM_CLOSE, .mark = "</think>"},
    {FORM_CLOSE, .mark = "[/THINK]"},
    {FORM_CLOSE, .mark = "</seed:think>"},

    {FORM_END, .mark = "</" TAG ">"},
    {FORM_END, .mark = "<|" TAG "|>"},
    {FORM_END, .mark = "<｜" TAG "｜>"},
    {FORM_END, .mark = "[/" TAG "]"},
};
const size_t text_forms_n = countof(text_forms);
