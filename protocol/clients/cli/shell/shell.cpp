// The shell on a terminal: the only door to libedit.
#include "protocol/clients/cli/shell/shell.hpp"

#include <histedit.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "protocol/clients/cli/interrupt.hpp"
#include "protocol/clients/cli/shell/completion.hpp"
#include "protocol/clients/cli/shell/history_file.hpp"
#include "protocol/clients/cli/shell/line.hpp"

namespace mxkv::cli {
namespace {

constexpr int kHistoryLines = 1000;

/// The state that libedit's callbacks use.
struct Editor {
  Session& session;
  std::string prompt{};
  bool cancelled = false;  ///< Ctrl-C: the line is not to be run
};

Editor& editor_of(EditLine* line) {
  Editor* editor = nullptr;
  ::el_get(line, EL_CLIENTDATA, &editor);
  return *editor;
}

const char* show_prompt(EditLine* line) {
  return editor_of(line).prompt.c_str();
}

unsigned char cancel_line(EditLine* line, int) {
  editor_of(line).cancelled = true;
  std::fputs("^C", stdout);
  std::fflush(stdout);
  return CC_NEWLINE;
}

unsigned char complete_word(EditLine* line, int) {
  const LineInfo* const info = ::el_line(line);
  const std::string before(info->buffer, static_cast<std::size_t>(info->cursor - info->buffer));
  const Completion completion = complete_line(editor_of(line).session, before);
  if (completion.whole.empty()) {
    return CC_REFRESH_BEEP;
  }
  std::string common = completion.common;
  if (completion.whole.size() == 1 && !completion.more) {
    common += ' ';
  }
  if (common.size() > completion.stem.size()) {
    return ::el_insertstr(line, common.c_str() + completion.stem.size()) == 0 ? CC_REFRESH : CC_ERROR;
  }
  std::fputc('\n', stdout);
  for (const std::string& word : completion.whole) {
    std::printf("%s\n", word.c_str());
  }
  if (completion.more) {
    std::puts("... and more: type another letter, or scan");
  }
  std::fflush(stdout);
  return CC_REDISPLAY;
}

class Terminal {
 public:
  explicit Terminal(Editor& editor)
      : line_(::el_init("mxkv-cli", stdin, stdout, stderr), &::el_end),
        history_(::history_init(), &::history_end) {
    if (line_ == nullptr || history_ == nullptr) {
      throw Failure(Outcome::file, "the terminal cannot be set up");
    }
    HistEvent event{};
    ::history(history_.get(), &event, H_SETSIZE, kHistoryLines);
    ::history(history_.get(), &event, H_SETUNIQUE, 1);
    file_ = history_path();
    if (!file_.empty()) {
      ::history(history_.get(), &event, H_LOAD, file_.c_str());
    }
    EditLine* const line = line_.get();
    ::el_set(line, EL_CLIENTDATA, &editor);
    ::el_set(line, EL_PROMPT, show_prompt);
    ::el_set(line, EL_EDITOR, "emacs");
    ::el_set(line, EL_HIST, ::history, history_.get());
    ::el_set(line, EL_ADDFN, "cli-complete", "Complete the word", complete_word);
    ::el_set(line, EL_ADDFN, "cli-cancel", "Drop the line", cancel_line);
    ::el_set(line, EL_BIND, "^I", "cli-complete", nullptr);
    ::el_set(line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_set(line, EL_BIND, "^C", "cli-cancel", nullptr);
    // While the user edits a line, Ctrl-C is a key like others. While a command runs, it is a signal.
    ::el_set(line, EL_SETTY, "-d", "-isig", nullptr);
    ::el_source(line, nullptr);  // ~/.editrc
  }

  /// Reads a line. Returns false at the end of the input.
  bool read(std::string& text) {
    // Prepare the terminal before the prompt shows, so that a Ctrl-C behind the prompt is a key.
    ::el_set(line_.get(), EL_PREP_TERM, 1);
    int count = 0;
    const char* const typed = ::el_gets(line_.get(), &count);
    if (typed == nullptr || count <= 0) {
      return false;
    }
    text.assign(typed, static_cast<std::size_t>(count));
    while (text.ends_with('\n') || text.ends_with('\r')) {
      text.pop_back();
    }
    return true;
  }

  void remember(const std::string& text) {
    HistEvent event{};
    ::history(history_.get(), &event, H_ENTER, text.c_str());
    if (!file_.empty()) {
      ::history(history_.get(), &event, H_SAVE, file_.c_str());
    }
  }

 private:
  std::unique_ptr<EditLine, decltype(&::el_end)> line_;
  std::unique_ptr<History, decltype(&::history_end)> history_;
  std::string file_;
};

}  // namespace

Outcome run_shell(Session& session) {
  std::setlocale(LC_CTYPE, "");
  Editor editor{.session = session, .prompt = session.settings().server + "> "};
  Terminal terminal(editor);
  std::string text;
  while (terminal.read(text)) {
    if (std::exchange(editor.cancelled, false)) {
      std::fputc('\n', stdout);
      continue;
    }
    if (text.find_first_not_of(" \t") == std::string::npos) {
      continue;
    }
    terminal.remember(text);
    forget_interrupt();
    if (run_line(session, text, "").end == LineEnd::leave) {
      return Outcome::done;
    }
  }
  std::fputc('\n', stdout);
  return Outcome::done;
}

}  // namespace mxkv::cli
