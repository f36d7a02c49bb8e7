#!/usr/bin/env python3
"""Generates tokens with a language model: chat.py CHAT.gart ID... (tools/python on PYTHONPATH), or, with PyPI's `tokenizers`,
a conversation: chat.py CHAT.gart TOKENIZER.json"""
import sys

import gart


def numbers(session, ids):
    """Runs two turns of ids. The second turn starts with the last token of the first one, which the model has not read
    yet."""
    for _ in range(2):
        ids = session.generate(ids, max_tokens=8, on_token=lambda token: print(token, end=" "))[-1:]
        print()


def text(session, path):
    """Reads one line of text per turn, and prints the answer while the model generates it."""
    from tokenizers import Tokenizer
    tokenizer, last = Tokenizer.from_file(path), []
    stops = [i for i in map(tokenizer.token_to_id, ("</s>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>")) if i is not None]
    while line := input("> "):
        new, shown = [], ""

        def show(token):
            nonlocal shown
            new.append(token)
            answer = tokenizer.decode(new)
            if not answer.endswith("\ufffd"):  # a character may take several tokens
                print(answer[len(shown):], end="", flush=True)
                shown = answer
        last = session.generate(last + tokenizer.encode(line).ids, max_tokens=200, temperature=0.7, top_p=0.95, stop_ids=stops, on_token=show)[-1:]
        print()


if __name__ == "__main__":
    chat = gart.load(sys.argv[1]).session()
    if sys.argv[2].endswith(".json"):
        text(chat, sys.argv[2])
    else:
        numbers(chat, [int(token) for token in sys.argv[2:]])
