"""test_vision.py - images for models that see: what the code drew and what the user attached, over every API and dialect; refused by the service,
too many, saved by reference, recorded and replayed."""
import json
import os

import pexpect
import pytest
from PIL import Image

from image_parts import images, png_of, size_of, words
from profiles import PROFILES

DRAW = "from PIL import Image\nImage.new('RGB', (%d, %d), (250, 20, 20)).save('%s')"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"


def call(*codes):
    return {"answer": {"calls": [{"code": code} for code in codes]}}


def done(text="Done."):
    return {"answer": {"text": text}}


def photo(sandpiper, name="photo.jpg", size=(1500, 1000)):
    path = sandpiper.path(name)
    Image.effect_noise(size, 90).convert("RGB").save(path)
    return path


def contents(server, number):
    """Of the messages of a request, without the system's."""
    return [(m["role"], m["content"]) for m in server.requests[number - 1].messages[1:]]


def test_a_figure_that_code_drew(sandpiper_on, serve):
    server = serve(sandpiper_on, [call(PLOT), done()], model="gpt-4o", sees=True)
    r = sandpiper_on.run("plot")
    assert r.code == 0 and r.err.count("is sent to gpt-4o too") == 1, r
    (q, c, result, shown) = contents(server, 2)
    assert [q[0], c[0], result[0], shown[0]] == ["user", "assistant", "tool", "user"]
    assert "figure-1.png" in result[1] and words(shown[1]) == "[The image figure-1.png, made by the code:]\n"
    assert [p["type"] for p in shown[1]] == ["text", "image_url"] and len(images(shown[1])) == 1


def test_calls_side_by_side(sandpiper, serve):
    """Nothing may stand between two results."""
    server = serve(sandpiper, [call(DRAW % (10, 10, "a.png"), "1 + 1", DRAW % (20, 10, "b.png")), done()], sees=True)
    assert sandpiper.run("--vision", "on", "draw").code == 0
    got = contents(server, 2)
    assert [role for role, _ in got] == ["user", "assistant", "tool", "tool", "tool", "user"]
    assert [size_of(png) for png in images(got[-1][1])] == [(10, 10), (20, 10)]


@pytest.mark.slow(3)
@pytest.mark.parametrize("options", [("--dialect", "native"), ("--dialect", "blocks"), ("--api", "responses")], ids=["native", "blocks", "responses"])
def test_a_photo_that_the_user_attached(sandpiper, serve, options):
    server = serve(sandpiper, [done("Noise.")], sees=True)
    r = sandpiper.run("--vision", "on", *options, "--add", photo(sandpiper), "what is it?")
    assert r.code == 0 and "photo.jpg is sent to test-model too (images: at most 1024 x 1024 pixels, the newest few" in r.err, r
    if "responses" in options:
        (item,) = server.requests[0].body["input"]
        content = item["content"]
        assert [p["type"] for p in content] == ["input_text", "input_text", "input_image"]
        width, height = size_of(png_of(content[2]))
    else:
        ((role, content),) = contents(server, 1)
        assert role == "user" and [p["type"] for p in content] == ["text", "text", "image_url"]
        width, height = size_of(images(content)[0])
    assert content[0]["text"].endswith("what is it?") and "photo.jpg, attached by the user" in content[1]["text"]
    assert 400 < width < 1024 and abs(width / height - 1.5) < 0.01          # noise: smaller still, so that the PNG is at most 1 MiB


def test_results_of_responses_hold_their_images(sandpiper, serve):
    server = serve(sandpiper, [call(DRAW % (40, 30, "a.png")), done()], sees=True)
    assert sandpiper.run("--vision", "on", "--api", "responses", "draw").code == 0
    output = server.requests[1].body["input"][-1]
    assert output["type"] == "function_call_output" and [p["type"] for p in output["output"]] == ["input_text", "input_text", "input_image"]
    assert size_of(png_of(output["output"][2])) == (40, 30)


def test_results_of_blocks(sandpiper, serve):
    server = serve(sandpiper, [{"answer": {"text": "```python\n%s\n```" % (DRAW % (40, 30, "a.png"))}}, done()], sees=True)
    assert sandpiper.run("--vision", "on", "--dialect", "blocks", "draw").code == 0
    role, content = contents(server, 2)[-1]
    assert role == "user" and "a.png" in content[0]["text"] and size_of(images(content)[0]) == (40, 30)


@pytest.mark.parametrize("model,option", [("test-model", "auto"), ("gpt-4o", "off"), ("gpt-3.5-turbo", "auto")])
def test_models_that_do_not_see_get_text(sandpiper, serve, model, option):
    server = serve(sandpiper, [call(DRAW % (40, 30, "a.png")), done()], model=model)        # which refuses whatever is no text
    r = sandpiper.run("--vision", option, "--add", photo(sandpiper), "plot")
    assert r.code == 0 and "is sent to" not in r.err, r
    assert "image_url" not in str(server.requests[1].body)


def test_models_of_config_yaml(sandpiper, serve):
    sandpiper.configure("models:\n  'my-*': {vision: true}\n")
    server = serve(sandpiper, [call(DRAW % (40, 30, "a.png")), done()], model="my-llama", sees=True)
    assert sandpiper.run("plot").code == 0
    assert images(contents(server, 2)[-1][1])


@pytest.mark.slow(3)
def test_the_newest_few(sandpiper, serve):
    server = serve(sandpiper, [call(DRAW % (10 + i, 10, "p%d.png" % i)) for i in range(10)] + [done()], sees=True)
    assert sandpiper.run("--vision", "on", "draw").code == 0
    got = contents(server, 11)
    assert [size_of(png) for role, content in got for png in images(content)] == [(i, 10) for i in range(14, 20)]
    told = [content for role, content in got if role == "tool"]
    assert ["is not shown here any more" in t for t in told] == [True] * 4 + [False] * 6, told
    assert "[The image p0.png is not shown here any more.]" in told[0]


def test_what_is_no_image(sandpiper, serve):
    code = "open('a.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 100)"
    server = serve(sandpiper, [call(code), done()], sees=True)
    r = sandpiper.run("--vision", "on", "draw")
    assert r.code == 0 and "test-model does not see a.png: a.png could not be decoded" in r.err, r
    role, content = contents(server, 2)[-1]
    assert role == "tool" and content.endswith("[The image a.png is not shown here.]")


REFUSALS = [
    (404, "No endpoints found that support image input"), (400, "messages[3].content must be a string"), (400, "unknown variant `image_url`, expected `text`"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"), (400, "At most 0 image(s) may be provided in one prompt."),
    (400, "Unexpected role 'user' after role 'tool'"), (422, "Input should be a valid string"), (400, "test-model is not a multimodal model")]


@pytest.mark.parametrize("status,text", REFUSALS)
def test_a_service_that_takes_none(sandpiper, serve, status, text):
    server = serve(sandpiper, [call(DRAW % (40, 30, "a.png")), {"answer": {"status": status, "json": {"error": {"message": text, "type": "x"}}}}, call(DRAW % (9, 9, "b.png")), done()], sees=True)
    r = sandpiper.run("--vision", "on", "plot")
    assert r.code == 0 and r.err.count("test-model does not accept images here; only text is sent") == 1, r
    assert "image_url" in str(server.requests[1].body)
    assert "image_url" not in str(server.requests[2].body) + str(server.requests[3].body)
    assert "b.png" in str(server.requests[3].body)


def test_an_error_that_is_not_about_images_stays_one(sandpiper, serve):
    serve(sandpiper, [call(DRAW % (40, 30, "a.png")), {"answer": {"status": 400, "json": {"error": {"message": "This model does not exist on Tuesdays"}}}}], sees=True)
    r = sandpiper.run("--vision", "on", "plot")
    assert r.code == 1 and "takes no images" not in r.err, r


def test_a_session_that_is_continued(sandpiper, serve):
    """It refers to the files: they are made ready again."""
    serve(sandpiper, [call(DRAW % (40, 30, "a.png")), done()], sees=True)
    assert sandpiper.run("--vision", "on", "--add", photo(sandpiper, size=(60, 40)), "draw").code == 0
    server = serve(sandpiper, [done("Red.")], sees=True)
    r = sandpiper.run("--vision", "on", "-c", "which colour?")
    assert r.code == 0, r
    got = contents(server, 1)
    assert [role for role, _ in got] == ["user", "assistant", "tool", "user", "assistant", "user"]
    assert size_of(images(got[0][1])[0]) == (60, 40) and size_of(images(got[3][1])[0]) == (40, 30)


def test_a_file_that_went_away(sandpiper, serve):
    serve(sandpiper, [done()], sees=True)
    path = photo(sandpiper, "gone.png", (60, 40))
    assert sandpiper.run("--vision", "on", "--add", path, "what is it?").code == 0
    with open(path, "w") as f:
        f.write("now something else")
    server = serve(sandpiper, [done()], sees=True)
    r = sandpiper.run("--vision", "on", "-c", "and now?")
    assert r.code == 0 and "does not see gone.png" in r.err, r
    assert contents(server, 1)[0][1].endswith("[The image gone.png is not shown here.]")


@pytest.mark.slow(3)
def test_recorded_and_replayed(sandpiper, serve):
    path = sandpiper.path("session.jsonl")
    serve(sandpiper, [call(DRAW % (40, 30, "a.png")), done("A line.")], model="gpt-4o", sees=True)
    r = sandpiper.run("--record", path, "--add", photo(sandpiper, size=(60, 40)), "plot")
    assert r.code == 0, r
    again = sandpiper.run("--replay", path, "--add", sandpiper.path("photo.jpg"), "plot")
    assert again.code == 0 and again.out == r.out == "A line.\n", again
    with open(path) as f:
        bodies = [json.loads(line) for line in f]
    assert "image_url" in json.dumps(bodies)


def test_a_failed_question_keeps_its_image(sandpiper, serve):
    server = serve(sandpiper, [{"answer": {"status": 400, "json": {"error": {"message": "not today"}}}}, done()], sees=True)
    path = photo(sandpiper, size=(60, 40))
    p = sandpiper.chat("--vision", "on", "--add", path)
    p.expect_exact("\x1b[?2004h")
    p.send("what is it?\r")
    p.expect("not today")
    p.expect_exact("\x1b[?2004h")
    p.send("/retry\r")
    p.expect("Done.")
    p.expect_exact("\x1b[?2004h")
    p.sendeof()
    p.expect_exact(pexpect.EOF)
    assert [len(images(contents(server, n)[-1][1])) for n in (1, 2)] == [1, 1]


@pytest.mark.slow(3)
def test_images_of_a_folder(sandpiper, serve):
    """The first four, each once, by the name that they have in the sandbox; no link leads out of the folder; a continued session has them again."""
    os.makedirs(sandpiper.path("work/scans/deep"))
    for i in range(6):
        photo(sandpiper, "work/scans/%s%d.png" % ("deep/" if i == 1 else "", i), (10 + i, 10))
    photo(sandpiper, "secret.png", (99, 99))
    os.symlink(sandpiper.path("secret.png"), sandpiper.path("work/scans/00.png"))
    sandpiper.write("scans/notes.txt", "none")
    sandpiper.write("scans/0000.png", "no image")
    server = serve(sandpiper, [done()], sees=True)
    r = sandpiper.run("--vision", "on", "--add", "scans", "what is it?")
    assert r.code == 0 and "scans: test-model sees the first 4 of 7 images" in r.err and "does not see scans/0000.png" in r.err, r
    ((_, content),) = contents(server, 1)
    assert [size_of(png)[0] for png in images(content)] == [10, 12, 13], content
    assert "[The image scans/0.png, attached by the user:]" in words(content) and "[The image scans/0000.png is not shown here.]" in words(content)
    server = serve(sandpiper, [done()], sees=True)
    assert sandpiper.run("--vision", "on", "-c", "and now?").code == 0
    assert [size_of(png)[0] for png in images(contents(server, 1)[0][1])] == [10, 12, 13]


def test_a_folder_for_a_model_that_does_not_see(sandpiper, serve):
    os.makedirs(sandpiper.path("work/scans"))
    photo(sandpiper, "work/scans/a.png", (10, 10))
    server = serve(sandpiper, [done()])
    r = sandpiper.run("--vision", "off", "--add", "scans", "what is it?")
    assert r.code == 0 and "sees" not in r.err and "image_url" not in str(server.requests[0].body), r


def test_images_of_results_where_no_user_may_follow_one(sandpiper, serve):
    """Mistral: "Unexpected role 'user' after role 'tool'"."""
    server = serve(sandpiper, [call(DRAW % (40, 30, "a.png"), "1 + 1"), done()], model="m", sees="results", profile=PROFILES["mistral"])
    sandpiper.configure("providers:\n  mine:\n    base_url: %s\n    models: [m]\n    result_images: true\n    max_tokens: omit\n    reasoning_back: never\n" % server.url)
    sandpiper.url = None
    r = sandpiper.run("--provider", "mine", "--vision", "on", "--add", photo(sandpiper, size=(60, 40)), "draw")
    assert r.code == 0 and "takes no images" not in r.err, r
    got = contents(server, len(server.requests))
    assert [role for role, _ in got] == ["user", "assistant", "tool", "tool"] and got[3][1] == "2", got
    assert size_of(images(got[0][1])[0]) == (60, 40) and size_of(images(got[2][1])[0]) == (40, 30)
    assert got[2][1][0]["type"] == "text" and "a.png" in words(got[2][1])
