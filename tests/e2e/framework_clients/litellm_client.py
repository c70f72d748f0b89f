"""litellm: an answer whole and streamed, one in a form, and a tool of the client's; in both APIs."""
import os

import litellm
from pydantic import BaseModel

litellm.telemetry = False
where = {"model": "openai/sandpiper", "api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"], "max_retries": 0}


class Place(BaseModel):
    city: str
    size: int | None = None


def user(text):
    return [{"role": "user", "content": text}]


print(litellm.completion(messages=user("What is 6 * 7?"), **where).choices[0].message.content)
pieces = litellm.completion(messages=user("And 6 * 8?"), stream=True, stream_options={"include_usage": True}, **where)
pieces = list(pieces)
print("".join(p.choices[0].delta.content or "" for p in pieces if p.choices), [p.usage.total_tokens > 0 for p in pieces if getattr(p, "usage", None)])
print(Place.model_validate_json(litellm.completion(messages=user("Ulm?"), response_format=Place, **where).choices[0].message.content))
weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}
talk = user("Warm?")
said = litellm.completion(messages=talk, tools=[weather], reasoning_effort="low", allowed_openai_params=["reasoning_effort"], **where).choices[0].message
talk += [said, {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "12 degrees"}]
print(said.tool_calls[0].function.name, litellm.completion(messages=talk, tools=[weather], **where).choices[0].message.content)
print(litellm.responses(input="What is 6 * 9?", **where).output[-1].content[0].text)
