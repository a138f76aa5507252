// routes_facts.cpp: what is not a text that grows: models, positions, tokens, scores, the server's state, the page.
#include <algorithm>
#include <utility>

#include "base/words.h"
#include "ordinal/position.h"
#include "serve/inside.h"
#include "serve/lab.h"

namespace ordinal::serve {

const ServedModel& Server::Inside::model_for(const std::string& name) const {
  if (name.empty()) return models.front();
  const auto found = std::ranges::find(models, name, &ServedModel::name);
  if (found != models.end()) return *found;
  throw Failure{404,
                "there is no model " + in_quotes(name) + "; there are: " + joined(models, ", ", &ServedModel::name),
                "invalid_request_error", "model", "model_not_found"};
}

std::vector<TokenId> Server::Inside::ids_of(const ServedModel& model, const Prompt& prompt, bool special) const {
  const ModelConfig& config = model.engine->model().config();
  std::vector<TokenId> ids;
  if (const auto* given = std::get_if<std::vector<TokenId>>(&prompt)) {
    ids = *given;
  } else if (model.tokenizer != nullptr) {
    ids = model.tokenizer->encode(std::get<std::string>(prompt), {.parse_special = special});
  } else {
    throw BadRequest("prompt", "the model has no tokenizer, so it cannot read text; expected: token ids");
  }
  if (ids.empty() && config.bos_id >= 0) return {config.bos_id};
  if (ids.empty() && !config.eos_ids.empty()) return {config.eos_ids.front()};
  return ids;
}

void Server::Inside::health(Exchange& exchange) {
  const bool stopping = draining.load();
  reply(exchange, stopping ? 503 : 200, stopping ? R"({"status":"stopping"})" : R"({"status":"ok"})");
}

void Server::Inside::list_models(Exchange& exchange) {
  JsonWriter json;
  json.begin_object();
  json.add("object", "list");
  json.key("data");
  json.begin_array();
  for (const ServedModel& model : models) {
    const ModelConfig& config = model.engine->model().config();
    json.begin_object();
    json.add("id", model.name);
    json.add("object", "model");
    json.add("created", started);
    json.add("owned_by", "ordinal");
    json.add("position", model.engine->position());
    json.add("trained_positions", model.engine->model().file().notes().trained_positions);
    json.add("trained_length", config.max_seq_len);
    json.add("context", model.engine->context());
    json.add("most_context", options.limits.context);
    json.add("vocab_size", config.vocab_size);
    json.add("layers", config.n_layers);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  reply(exchange, 200, json.take());
}

void Server::Inside::list_positions(Exchange& exchange) {
  JsonWriter json;
  json.begin_object();
  json.add("object", "list");
  json.key("data");
  json.begin_array();
  for (const SchemeInfo& info : position_schemes()) {
    json.begin_object();
    json.add("id", info.name);
    json.add("kind", info.kind);
    json.add("summary", info.summary);
    json.add("source", info.source);
    json.key("params");
    json.begin_array();
    const AttentionShape shape = attention_shape(models.front().engine->model().config(), options.limits.context);
    for (const SchemeParam& param : describe_position_scheme(std::string(info.name), shape).params) {
      json.begin_object();
      json.add("key", param.key);
      json.add("default", param.otherwise);
      json.add("allowed", param.allowed);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  reply(exchange, 200, json.take());
}

void Server::Inside::show_metrics(Exchange& exchange) {
  int64_t waiting = 0, at_work = 0, cache = 0;
  double busy = 0;
  for (const ServedModel& model : models) {
    waiting += model.engine->waiting();
    at_work += model.engine->at_work();
    cache += model.engine->cache_bytes();
    busy += model.engine->busy_seconds();
  }
  std::string more =
      metric_lines("ordinal_queue_length", "gauge", "Sequences that wait.", static_cast<double>(waiting)) +
      metric_lines("ordinal_sequences_at_work", "gauge", "Sequences at work.", static_cast<double>(at_work)) +
      metric_lines("ordinal_cache_bytes", "gauge", "Keys and values held.", static_cast<double>(cache)) +
      metric_lines("ordinal_busy_seconds_total", "counter", "Time in passes of the models.", busy);
  exchange.response.set_content(metrics.text(more), "text/plain; version=0.0.4");
}

void Server::Inside::page(Exchange& exchange) {
  exchange.response.set_header("Content-Security-Policy", std::string(lab_policy()));
  exchange.response.set_header("Referrer-Policy", "no-referrer");
  const std::string_view page = lab_page();
  exchange.response.set_content(page.data(), page.size(), "text/html; charset=utf-8");
}

void Server::Inside::tokenize(Exchange& exchange) {
  const JsonDocument body = parse_body(exchange.body, options.limits);
  const ServedModel& model = model_for(model_of(body));
  const TokenizeBody asked = read_tokenize(body);
  if (model.tokenizer == nullptr) throw BadRequest("text", "the model has no tokenizer, so it cannot read text");
  const auto tokens =
      model.tokenizer->encode_with_offsets(asked.text, {.parse_special = asked.special, .add_bos = asked.add_bos});
  JsonWriter json;
  json.begin_object();
  json.key("tokens");
  json.begin_array();
  std::vector<TokenId> ids;
  for (const TextToken& token : tokens) {
    ids.push_back(token.id);
    json.begin_object();
    json.add("id", token.id);
    json.add("piece", token_text(model.tokenizer.get(), token.id));
    json.add("begin", token.begin);
    json.add("end", token.end);
    json.end_object();
  }
  json.end_array();
  json.add("ids", ids);
  json.add("count", ids.size());
  json.end_object();
  notes().tokens_in = std::ssize(ids);
  reply(exchange, 200, json.take());
}

void Server::Inside::detokenize(Exchange& exchange) {
  const JsonDocument body = parse_body(exchange.body, options.limits);
  const ServedModel& model = model_for(model_of(body));
  if (model.tokenizer == nullptr) throw BadRequest("ids", "the model has no tokenizer, so ids are no text");
  const TokenizeBody asked = read_detokenize(body, model.tokenizer->vocab_size());
  JsonWriter json;
  json.begin_object();
  json.add("text", model.tokenizer->decode(asked.ids, asked.special));
  json.end_object();
  notes().tokens_in = std::ssize(asked.ids);
  reply(exchange, 200, json.take());
}

void Server::Inside::score(Exchange& exchange) {
  const JsonDocument document = parse_body(exchange.body, options.limits);
  const ServedModel& model = model_for(model_of(document));
  const ScoreBody body = read_score(document, options.limits, model.engine->model().config().vocab_size);
  std::vector<std::vector<TokenId>> texts;
  for (const Prompt& text : body.texts) texts.push_back(ids_of(model, text, body.special));
  const auto answer = std::make_shared<Answer>(texts.size() * body.positions.size(), true);
  std::vector<GenerateRequest> requests;
  Usage usage;
  for (const std::vector<TokenId>& text : texts)
    for (const std::string& position : body.positions) {
      GenerateRequest& request = requests.emplace_back();
      request.prompt = text;
      request.position = position == "native" ? "" : position;
      request.options.max_new_tokens = 0;
      request.options.prompt_logprobs = body.top;
      request.options.context = body.ctx;
      request.id = std::ssize(requests);
      answer->follow(request, requests.size() - 1);
      usage.prompt_tokens += std::ssize(text);
    }
  submit(model, std::move(requests), "text");
  const bool waited = wait_for(*answer, exchange);
  count(*answer, usage);
  if (!waited) return;

  const std::vector<Generation> results = answer->results();
  const Tokenizer* tokenizer = model.tokenizer.get();
  JsonWriter json;
  json.begin_object();
  json.add("object", "score");
  json.add("model", model.name);
  json.key("texts");
  json.begin_array();
  for (const std::vector<TokenId>& text : texts) {
    std::vector<std::string> pieces;
    for (const TokenId id : text) pieces.push_back(token_text(tokenizer, id));
    json.begin_object();
    json.add("ids", text);
    json.add("pieces", pieces);
    json.end_object();
  }
  json.end_array();
  json.key("scores");
  json.begin_array();
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].finish == Finish::interrupted)
      throw Failure{503, "the scoring was cut short", "server_error", "", "timeout"};
    double nats = 0;
    std::vector<std::optional<double>> each = {std::nullopt};
    for (const TokenLogprob& score : results[i].prompt_logprobs) {
      nats -= score.logprob;
      each.emplace_back(-score.logprob);
    }
    const size_t scored = results[i].prompt_logprobs.size();
    json.begin_object();
    json.add("text", i / body.positions.size());
    json.add("position", body.positions[i % body.positions.size()]);
    json.add("tokens", scored);
    json.add("nats", nats);
    json.add("nats_per_token", scored == 0 ? std::nullopt : std::optional(nats / static_cast<double>(scored)));
    json.add("token_nats", each);
    if (body.top > 0) {
      json.key("top");
      json.begin_array();
      json.value(nullptr);
      for (const TokenLogprob& score : results[i].prompt_logprobs) {
        json.begin_array();
        for (const auto& [id, logprob] : score.best) {
          json.begin_object();
          json.add("id", id);
          json.add("token", token_text(tokenizer, id));
          json.add("logprob", logprob);
          json.end_object();
        }
        json.end_array();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
  json.key("usage");
  json.begin_object();
  json.add("prompt_tokens", usage.prompt_tokens);
  json.add("total_tokens", usage.prompt_tokens);
  json.end_object();
  json.end_object();
  reply(exchange, 200, json.take());
}

}  // namespace ordinal::serve
