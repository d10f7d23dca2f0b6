"""OpenAI's Python library, unchanged, against a server: `python openai_python.py URL`."""

import json
import sys

import openai
from openai import OpenAI
from pydantic import BaseModel

URL = sys.argv[1]
GATEWAY = "openai/scripted"
AGENT = "world:lab/ada"
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}

client = OpenAI(base_url=f"{URL}/v1", api_key="not-asked-for", max_retries=0)


def creates(model):
    response = client.responses.create(model=model, input="!say hello there")
    assert response.output_text == "hello there", response
    assert response.status == "completed", response
    assert response.id.startswith("resp_"), response
    assert response.usage.total_tokens > 0, response


def streams(model):
    events = list(client.responses.create(model=model, input="!words 20", stream=True))
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"], kinds
    assert kinds[-1] == "response.completed", kinds
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers)), numbers
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == events[-1].response.output_text, deltas
    assert len(deltas) > 1, deltas
    with client.responses.stream(model=model, input="!words 3") as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == "word0 word1 word2"


def calls_tools(model):
    asked = '!call get_weather {"city":"Oslo"}'
    first = client.responses.create(model=model, input=asked, tools=[WEATHER])
    calls = [item for item in first.output if item.type == "function_call"]
    assert len(calls) == 1, first
    assert (calls[0].name, json.loads(calls[0].arguments)) == ("get_weather", {"city": "Oslo"})
    result = {"type": "function_call_output", "call_id": calls[0].call_id, "output": "rain"}
    second = client.responses.create(
        model=model, previous_response_id=first.id, input=[result], tools=[WEATHER]
    )
    assert second.output_text == "done: rain", second
    assert second.previous_response_id == first.id


def structures():
    class Person(BaseModel):
        name: str
        age: int

    asked = '!say {"name": "Ada", "age": 36}'
    response = client.responses.parse(model=GATEWAY, input=asked, text_format=Person)
    assert response.output_parsed == Person(name="Ada", age=36), response


def remembers(model):
    first = client.responses.create(model=model, input="my name is Ada")
    second = client.responses.create(model=model, input="!say and?", previous_response_id=first.id)
    third = client.responses.create(model=model, input="!say so", previous_response_id=second.id)
    assert third.output_text == "so", third
    found = client.responses.retrieve(second.id)
    assert (found.id, found.output_text) == (second.id, "and?"), found
    client.responses.delete(first.id)
    assert_raises(openai.NotFoundError, lambda: client.responses.retrieve(first.id))


def looks_at_images(model):
    content = [
        {"type": "input_text", "text": "!say a dot"},
        {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
    ]
    response = client.responses.create(model=model, input=[{"role": "user", "content": content}])
    assert response.output_text == "a dot", response


def lets_a_person_decide():
    asked = '!call shell_cmd {"command":"echo","parameters":["hi"]}'
    for approve, expected in [(True, "done: hi"), (False, "denied by the user: not now")]:
        first = client.responses.create(model=AGENT, input=asked)
        requests = [item for item in first.output if item.type == "mcp_approval_request"]
        assert len(requests) == 1, first
        assert requests[0].name == "shell_cmd", requests
        assert json.loads(requests[0].arguments)["command"] == "echo", requests
        answer = {
            "type": "mcp_approval_response",
            "approval_request_id": requests[0].id,
            "approve": approve,
        }
        if not approve:
            answer["reason"] = "not now"
        second = client.responses.create(
            model=AGENT, previous_response_id=first.id, input=[answer]
        )
        assert expected in second.output_text, second


def runs_in_the_background():
    begun = client.responses.create(model=GATEWAY, input="!hold never\n!say no", background=True)
    assert begun.status in ("queued", "in_progress"), begun
    ended = client.responses.cancel(begun.id)
    assert ended.status == "cancelled", ended
    assert client.responses.retrieve(begun.id).status == "cancelled"


def fails_with_types():
    def create(**changed):
        arguments = {"model": GATEWAY, "input": "hello", **changed}
        return lambda: client.responses.create(**arguments)

    assert_raises(openai.NotFoundError, create(model="nobody/knows"))
    assert_raises(openai.NotFoundError, create(model="world:lab/nobody"))
    assert_raises(openai.BadRequestError, create(input=7))
    assert_raises(openai.BadRequestError, create(temperature="warm"))
    assert_raises(openai.RateLimitError, create(input="!fail 429"))
    assert_raises(openai.InternalServerError, create(input="!fail 500"))
    assert_raises(openai.APIStatusError, create(previous_response_id="resp_nobody"))


def lists_models():
    names = [model.id for model in client.models.list()]
    assert "demo/demo" in names and AGENT in names, names


def completes_chats(model):
    messages = [{"role": "user", "content": "!say hello there"}]
    whole = client.chat.completions.create(model=model, messages=messages)
    assert whole.choices[0].message.content == "hello there", whole
    assert whole.choices[0].finish_reason == "stop", whole
    pieces = client.chat.completions.create(model=model, messages=messages, stream=True)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == "hello there", text


def assert_raises(kind, action):
    try:
        answer = action()
    except kind as error:
        assert error.body and error.body.get("message"), error.body
        return
    raise AssertionError(f"{kind.__name__} was not raised: {answer}")


SCENES = [
    ("creates", lambda: [creates(GATEWAY), creates(AGENT), creates_demo()]),
    ("streams", lambda: [streams(GATEWAY), streams(AGENT)]),
    ("calls tools", lambda: [calls_tools(GATEWAY), calls_tools(AGENT)]),
    ("structures", structures),
    ("remembers", lambda: [remembers(GATEWAY), remembers(AGENT)]),
    ("looks at images", lambda: [looks_at_images(GATEWAY), looks_at_images(AGENT)]),
    ("lets a person decide", lets_a_person_decide),
    ("runs in the background", runs_in_the_background),
    ("fails with types", fails_with_types),
    ("lists models", lists_models),
    ("completes chats", lambda: [completes_chats(GATEWAY), completes_chats(AGENT)]),
]


def creates_demo():
    response = client.responses.create(model="demo/demo", input="hello")
    assert response.output_text, response


for name, scene in SCENES:
    scene()
    print("ok", name, flush=True)
