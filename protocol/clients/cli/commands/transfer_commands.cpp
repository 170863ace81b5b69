// export, import: items to a file and back.
#include <map>
#include <memory>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/commands/range_options.hpp"
#include "protocol/clients/cli/text/complain.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/transfer/importer.hpp"
#include "protocol/clients/cli/transfer/progress.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

struct ImportArguments {
  ImportOptions options{};
  std::string mode = "add";
};

struct ExportArguments {
  ExportOptions options{};
  std::string form = "jsonl";
  bool plain = false;
};

/// The description of the range in the file: the same text for the same arguments.
std::string text_of_range(const Range& range) {
  std::string text;
  const auto add = [&text](const char* name, const std::optional<std::string>& key) {
    if (key) {
      text += (text.empty() ? "" : " ") + std::string(name) + " " + quoted_word(*key);
    }
  };
  add("prefix", range.prefix);
  add("from", range.from);
  add("to", range.to);
  return text.empty() ? "all" : text;
}

/// On standard error, since the items may go to standard output.
void tell_report(Session& session, const char* done, const TransferReport& report,
                 const std::string& mode = {}) {
  if (session.json()) {
    Json document = Json::object();
    document["items"] = report.totals.items;
    document["bytes"] = report.totals.bytes;
    document["done_before"] = report.before;
    document["kept"] = report.kept;
    document["expired"] = report.expired;
    document["seconds"] = report.seconds;
    complain(document.dump());
    return;
  }
  const std::uint64_t stored = report.totals.items - report.kept - report.expired;
  std::string text = std::string(done) + " " + std::to_string(stored) +
                     (stored == report.totals.items ? "" : " of " + std::to_string(report.totals.items)) +
                     " items, " +
                     transfer_text(report.totals.items - report.before, report.totals.bytes, report.seconds);
  if (report.before != 0) {
    text += "; " + std::to_string(report.before) + " were done by earlier runs";
  }
  if (report.kept != 0) {
    text += "; " + std::to_string(report.kept) + " not stored because of --mode " + mode;
  }
  if (report.expired != 0) {
    text += "; " + std::to_string(report.expired) + " expired meanwhile";
  }
  complain(text);
}

Outcome run_export(Session& session, const RangeArguments& range, const ExportArguments& arguments) {
  ExportOptions options = arguments.options;
  options.range = range.range(session);
  options.range_text = text_of_range(options.range) + (options.unique ? " with cas" : "");
  options.form = arguments.form == "binary" ? DumpForm::blocks : DumpForm::json_lines;
  options.compressed = !arguments.plain;
  tell_report(session, "exported", export_items(session.connection(), options));
  return Outcome::done;
}

Outcome run_import(Session& session, const ImportArguments& arguments) {
  static const std::map<std::string, char> modes{{"add", 'E'}, {"replace", 'R'}, {"set", 'S'}};
  ImportOptions options = arguments.options;
  options.mode = modes.at(arguments.mode);
  const TransferReport report =
      import_items([&session]() -> Connection& { return session.connection(); }, options);
  tell_report(session, options.dry_run ? "the file is complete:" : "imported", report, arguments.mode);
  return Outcome::done;
}

}  // namespace

Action declare_export(CLI::App& app) {
  const auto range = add_range(app);
  const auto arguments = std::make_shared<ExportArguments>();
  ExportOptions& options = arguments->options;
  CLI::Option* const output =
      app.add_option("--output,-o", options.path, "Output file; default: standard output")->type_name("FILE");
  app.add_option("--format", arguments->form, "jsonl: for people and programs; binary: smaller and faster")
      ->check(CLI::IsMember({"jsonl", "binary"}))
      ->type_name("FORM");
  app.add_flag("--uncompressed", arguments->plain, "Do not compress the binary format");
  app.add_flag("--cas", options.unique, "Export uniques, too");
  app.add_flag("--resume", options.resume, "Continue FILE.part, an unfinished export")->needs(output);
  app.add_flag("--overwrite", options.overwrite, "Replace an existing file");
  app.add_option("--rate", options.rate, "Maximum number of items per second")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_flag("--progress", options.progress, "Show the progress even if standard error is not a terminal");
  return [range, arguments](Session& session) { return run_export(session, *range, *arguments); };
}

Action declare_import(CLI::App& app) {
  const auto arguments = std::make_shared<ImportArguments>();
  ImportOptions& options = arguments->options;
  app.add_option("FILE", options.path, "An export, jsonl or binary; - is standard input")->required();
  app.add_option("--mode", arguments->mode,
                 "add: keep existing items; replace: only existing keys; set: store all")
      ->check(CLI::IsMember({"add", "replace", "set"}))
      ->type_name("MODE");
  app.add_flag("--dry-run", options.dry_run, "Only check the file; connect to no server");
  app.add_flag("--unverified", options.unverified, "Store at once, without checking the whole file first");
  app.add_flag("--cas", options.unique, "Store the uniques of the file");
  CLI::Option* const resume =
      app.add_flag("--resume", options.resume, "Continue where the last import stopped");
  app.add_option("--skip", options.skip, "Skip the first N items")->excludes(resume)->type_name("N");
  app.add_option("--rate", options.rate, "Maximum number of items per second")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_flag("--progress", options.progress, "Show the progress even if standard error is not a terminal");
  return [arguments](Session& session) { return run_import(session, *arguments); };
}

}  // namespace mxkv::cli
