"""langchain-openai: with_structured_output in its three methods, and bind_tools with the result sent back."""
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Place(BaseModel):
    city: str
    size: int | None = None


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 degrees in " + city


model = ChatOpenAI(model="sandpiper", max_retries=0)
for method in ("json_schema", "function_calling", "json_mode"):
    print(method, model.with_structured_output(Place, method=method).invoke("Ulm?"))
able, talk = model.bind_tools([weather]), [HumanMessage("Warm?")]
said = able.invoke(talk)
talk += [said] + [ToolMessage(weather.invoke(c["args"]), tool_call_id=c["id"]) for c in said.tool_calls]
print("".join(piece.content for piece in able.stream(talk)))
