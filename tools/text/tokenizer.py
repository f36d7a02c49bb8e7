"""Turns text into token ids and back for gcc-graph: a JSON request in each line of stdin, its answer in a line of stdout."""
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # no module comes from the working directory
import json
import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"


class Text:
    """A tokenizer. It remembers nothing between requests, so any number of texts may share it."""

    def __init__(self, path):
        self.path = path
        self.tokenizer = tokenizers.Tokenizer.from_file(path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def encode(self, text, special):
        return {"ids": self.tokenizer.encode(text, add_special_tokens=special).ids}

    def id_of(self, token):
        return {"id": self.tokenizer.token_to_id(token)}

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    def news(self, ids, read, is_end):
        """The text that follows the first `read` ids; "" if its last character needs further tokens."""
        known, text = self.decode(ids[:read]), self.decode(ids)
        if len(text) <= len(known) or (text.endswith("\ufffd") and not is_end):
            return {"text": ""}
        return {"text": text[len(known):]}

    def chat(self, messages, folder):
        """A conversation in the form of the model's template, up to the beginning of the next answer."""
        try:
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ImportError:
            return {"error": "a chat template needs the package jinja2: install it with " + sys.executable + " -m pip install jinja2"}
        template, names = chat_template(folder)
        if template is None:
            return {"error": f"{folder} has no chat template, neither chat_template.jinja nor one in tokenizer_config.json"}

        def refuse(message):
            raise ValueError(message)
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        environment.globals["raise_exception"] = refuse
        environment.globals["strftime_now"] = strftime_now
        return {"text": environment.from_string(template).render(messages=messages, add_generation_prompt=True, **names)}


def strftime_now(form):
    from datetime import datetime
    return datetime.now().strftime(form)


def chat_template(folder):
    """The template, and the special tokens that it names."""
    config, template = {}, None
    if os.path.exists(at := os.path.join(folder, "tokenizer_config.json")):
        with open(at, encoding="utf-8") as file:
            config = json.load(file)
    if os.path.exists(at := os.path.join(folder, "chat_template.jinja")):
        with open(at, encoding="utf-8") as file:
            template = file.read()
    template = template or config.get("chat_template")
    if isinstance(template, list):  # several by name
        template = {one["name"]: one["template"] for one in template}.get("default")
    tokens = {name: value for name, value in config.items() if name.endswith("_token")}
    return template, {name: value.get("content") if isinstance(value, dict) else value for name, value in tokens.items()}


def answer(request):
    try:
        return request()
    except BaseException as error:  # a fault inside tokenizers is not an Exception
        return {"error": " ".join(str(error).split()) or type(error).__name__}


def say(told):
    print(json.dumps(told), flush=True)


def main():
    if len(sys.argv) < 2:
        return say({"ready": tokenizers.__version__, "python": sys.executable})
    text = answer(lambda: Text(sys.argv[1]))
    if isinstance(text, dict):
        return say(text)
    say({"ready": tokenizers.__version__, "python": sys.executable})
    for line in sys.stdin:
        request = json.loads(line)
        say(answer(lambda: getattr(text, request["do"])(*request["with"])))


try:
    import tokenizers
except ImportError:
    say({"missing": "tokenizers", "python": sys.executable})
else:
    main()
