#include "server/net/session/session_core.hpp"

#include <utility>

#include "protocol/command_table.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/observe/connection_facts.hpp"
#include "server/net/session/binary_answers.hpp"

namespace mxkv::server {

void SessionCore::take_seat(UserSeat taken) noexcept {
  seat = std::move(taken);
  const User* const now = user();
  limited = now != nullptr && !now->may_administer();
  usual_gets = now == nullptr || !now->limits_keys();
  usual_sets = usual_gets && (now == nullptr || now->may_write());
}

void SessionCore::answer(std::string_view text) {
  ReplyQueue& replies = entry->replies;
  const std::uint32_t ticket = replies.open();
  replies.append(ticket, text);
  replies.close(ticket);
  host->directory.mark_dirty(*entry);
}

void SessionCore::finish(std::uint32_t ticket, std::string_view text) {
  if (entry->life.answers()) {
    entry->replies.append(ticket, text);
    entry->replies.close(ticket);
    host->directory.mark_dirty(*entry);
  }
}

void SessionCore::answer_code(protocol::reply_code code) {
  if (state.speaks_binary()) {
    answer_binary(*this, binary_form, status_of(code));
  } else {
    answer(text_of(code));
  }
}

// A batch is sampled only once all of its lines have come.
void SessionCore::sample(const protocol::Request& request) {
  if (std::exchange(again, ReplyAddress::kNoTicket) == entry->replies.next_ticket() ||
      request.op == protocol::verb::meta_batch) [[unlikely]] {
    return;
  }
  if (host->sampler.due()) [[unlikely]] {
    host->sampler.begin(*entry, request);
    if (protocol::is_sampled_by_key(request.op)) {
      host->store.sampled(host->worker, request.key,
                          protocol::is_retrieval(request.op) || request.op == protocol::verb::meta_get);
    }
  }
}

void SessionCore::note(happening what, Subject subject) const {
  if (host->happenings != nullptr) {
    subject.client = entry->owner->client_name();
    host->happenings->note(what, std::move(subject));
  }
}

// The log does not show keys: they may be secret from its readers.
void SessionCore::count_forbidden(const protocol::Request& request) const {
  host->credentials->count_forbidden();
  const std::string name = user()->is_visitor() ? "" : user()->options.name;
  const std::string command{protocol::name_of(request.op)};
  note(happening::forbidden,
       {.text = (name.empty() ? " without a login" : " as " + in_quotes(name)) + ": " + command,
        .user = name,
        .command = command});
}

void SessionCore::refuse_input() {
  in_error = true;
  state.refuse();
  held.clear();
  answer_code(protocol::reply_code::no_request_memory);
}

void SessionCore::wait_for_page() {
  MXKV_ASSERT(!pauses.has(kOfRoom), "a session waits in one list once");
  pauses.add(pause::page_room);
  host->starved.push_back(entry);
  ++host->page_pauses;
}

}  // namespace mxkv::server
