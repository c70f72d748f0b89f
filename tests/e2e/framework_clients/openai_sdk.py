"""openai-python: parse() with a model of pydantic's, a tool and its result, streamed and whole."""
import json

import openai
from pydantic import BaseModel

c = openai.OpenAI(max_retries=0)


class Place(BaseModel):
    city: str
    size: int


def question(text):
    return {"role": "user", "content": text}


print(c.chat.completions.parse(model="sandpiper", messages=[question("Ulm?")], response_format=Place).choices[0].message.parsed)
print(c.responses.parse(model="sandpiper", input="Ulm?", text_format=Place).output_parsed)
tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}
with c.chat.completions.stream(model="sandpiper", messages=[question("Warm?")], tools=[tool]) as stream:
    said = stream.get_final_completion().choices[0]
(call,) = said.message.tool_calls
print(said.finish_reason, call.function.name, json.loads(call.function.arguments))
talk = [question("Warm?"), said.message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}),
        {"role": "tool", "tool_call_id": call.id, "content": "12"}]
print(c.chat.completions.create(model="sandpiper", messages=talk, tools=[tool]).choices[0].message.content)
