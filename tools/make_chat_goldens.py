#!/usr/bin/env python3
# Writes tests/goldens/chat_templates.json: chat templates as checkpoints carry them, shortened where that changes nothing
# for the messages below, and what transformers' apply_chat_template makes of them. Run: pip install transformers jinja2;
# tools/make_chat_goldens.py
import json
import pathlib

import jinja2
import transformers
from transformers.utils.chat_template_utils import render_jinja_template

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def chatml_with(system):
    return ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\n"
            + system + "<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
            "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


QWEN25 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "<|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant") %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
QWEN3 = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant") %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""
LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
          "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
          "{% for message in loop_messages %}{% if loop.index0 == 0 and system_message != false %}{% set content = "
          "'<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = "
          "message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + "
          "' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}"
          "{% endfor %}")
LLAMA3 = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
          "message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
          "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
          "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")
LLAMA31 = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
GEMMA = ("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
         "{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role "
         "= message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + "
         "'<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}")


def mistral(before, after):
    return ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '" + before +
            "' + message['content'] + '" + after + "' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + "
            "eos_token}}{% endif %}{% endfor %}")


PHI3 = ("{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\\n' + message['content'] + "
        "'<|end|>\\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}"
        "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}")
ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""
KNOWN = {
    "chatml": [CHATML, QWEN3],
    "chatml-qwen2": [chatml_with("You are a helpful assistant.")],
    "chatml-qwen2.5": [QWEN25],
    "chatml-smollm2": [chatml_with("You are a helpful AI assistant named SmolLM, trained by Hugging Face")],
    "llama2+bos": [LLAMA2],
    "llama3+bos": [LLAMA3],
    "llama3.1+bos": [LLAMA31],
    "gemma+bos": [GEMMA],
    "mistral+bos": [mistral("[INST] ", " [/INST]")],
    "mistral-v3+bos": [mistral("[INST] ", "[/INST]")],
    "mistral-tekken+bos": [mistral("[INST]", "[/INST]")],
    "phi3": [PHI3],
    "phi3+bos": ["{{ bos_token }}" + PHI3],
    "zephyr": [ZEPHYR],
}
UNKNOWN = [
    chatml_with("You are Hermes."),  # a system message of its own
    CHATML.replace("\\n'", "<|im_sep|>'"),
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] }}{% endfor %}",
    "",
]
MESSAGES = ["Hello", "  two  lines\n and blanks \n"]


CONVERSATIONS = [
    [("system", " Be brief. "), ("user", " Hello ")],
    [("user", "Hello"), ("assistant", " Good day. "), ("user", "And now?\n")],
    [("system", "Be brief."), ("user", "Hello"), ("assistant", "Good day."), ("user", "And now?"), ("assistant", "Yes."),
     ("user", "So?")],
]


def rendered(template, *messages):
    """The text, or None where the template takes no such conversation."""
    conversation = [{"role": role, "content": content} for role, content in messages]
    try:
        texts, _ = render_jinja_template([conversation], chat_template=template, add_generation_prompt=True,
                                         bos_token="<s>", eos_token="</s>")
    except jinja2.exceptions.TemplateError:
        return None
    return texts[0]


def of_conversation(name, template, messages):
    # Templates without a word for system messages pass them over in silence; ours say so.
    silent = name.startswith("mistral") and messages[0][0] == "system"
    return {"messages": messages, "text": None if silent else rendered(template, *messages)}


def main():
    rows = [{"name": name, "template": template,
             "cases": [{"message": message, "text": rendered(template, ("user", message))} for message in MESSAGES],
             "conversations": [of_conversation(name, template, messages) for messages in CONVERSATIONS]}
            for name, templates in KNOWN.items() for template in templates]
    rows += [{"name": "", "template": template, "cases": [], "conversations": []} for template in UNKNOWN]
    path = GOLDENS / "chat_templates.json"
    body = ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows)
    path.write_text(f'{{"made_by": "tools/make_chat_goldens.py, transformers {transformers.__version__}",\n"templates": [\n{body}]}}\n')
    print(f"{path}: {path.stat().st_size} bytes, {len(rows)} templates")


main()
