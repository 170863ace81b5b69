#include "protocol/clients/cli/transfer/exporter.hpp"

#include <ctime>
#include <filesystem>
#include <optional>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/pacer.hpp"
#include "protocol/clients/cli/transfer/progress.hpp"
#include "protocol/clients/cli/wire/pages.hpp"

namespace mxkv::cli {
namespace {

/// The unfinished file of an earlier run.
DumpSurvey survey_part(const ExportOptions& options) {
  const std::string part = part_name(options.path);
  InputFile file(part);
  DumpSurvey survey = survey_dump(file);
  if (survey.finished) {
    // Only the rename, or the end, is missing. A new export takes no longer than finding out which.
    throw Failure(Outcome::file, part + ": is complete already; rename it, or start again with --overwrite");
  }
  if (survey.form != options.form || survey.range_text != options.range_text) {
    throw Failure(Outcome::file, part + ": holds another export (" +
                                     (survey.range_text.empty() ? "not known" : survey.range_text) +
                                     "), not " + options.range_text + " in this format");
  }
  return survey;
}

void look_before(const ExportOptions& options) {
  if (options.path.empty() || options.overwrite) {
    return;
  }
  const std::string part = part_name(options.path);
  if (std::filesystem::exists(options.path)) {
    throw Failure(Outcome::file, options.path + ": already exists; --overwrite replaces it");
  }
  if (!options.resume && std::filesystem::exists(part)) {
    throw Failure(Outcome::file,
                  part + ": is an unfinished export; --resume continues it, --overwrite starts again");
  }
}

/// The approximate number of items, for the progress only; 0 if they cannot be counted.
double count_about(Connection& server, const Range& range) {
  server.send(range_line(protocol::verb::meta_count, range) + "\r\n");
  const MetaReply reply = server.reply();
  if (reply.code != "HD") {
    return 0;
  }
  return static_cast<double>(reply.number('A'));
}

class Export {
 public:
  Export(Connection& server, const ExportOptions& options) : server_(server), options_(options) {}

  TransferReport run() {
    look_before(options_);
    Range range = options_.range;
    DumpSurvey before;
    std::optional<InputFile> part;
    if (options_.resume && std::filesystem::exists(part_name(options_.path))) {
      before = survey_part(options_);
      report_.totals = before.totals;
      report_.before = before.totals.items;
      if (!before.last_key.empty()) {
        range = as_bounds(range);
        range.from = before.last_key;
        range.from_exclusive = true;
      }
    }
    const double expected = static_cast<double>(report_.before) + count_about(server_, range);
    OutputFile file(options_.path, before.whole_bytes);
    if (before.whole_bytes != 0) {
      part.emplace(part_name(options_.path));
      writer_ = resume_dump(options_.form, file, *part, options_.compressed);
    } else {
      writer_ = begin_dump(options_.form, file, options_.range_text, options_.compressed);
    }
    try {
      read_all(range, expected);
    } catch (const Failure& failure) {
      give_up(failure);
    }
    writer_->finish(report_.totals);
    file.commit();
    return report_;
  }

 private:
  void read_all(const Range& range, double expected) {
    Progress progress(options_.progress);
    const Pacer pacer(options_.rate);
    const Wanted wanted = {.value = true, .flags = true, .seconds = true, .unique = options_.unique};
    Pages pages(server_, range, wanted, {.ahead = options_.rate == 0});
    Item item;
    while (const Record* const record = pages.next()) {
      item.key = record->key;
      item.value = record->value;
      item.flags = record->flags;
      item.unique = record->unique;
      item.expires =
          record->seconds < 0 ? 0 : static_cast<std::uint64_t>(std::time(nullptr) + record->seconds);
      writer_->add(item);
      ++report_.totals.items;
      report_.totals.bytes += item.key.size() + item.value.size();
      if (pages.page_done()) {
        if (progress.tell(report_.totals.items, report_.totals.bytes,
                          expected > 0 ? static_cast<double>(report_.totals.items) / expected : -1)) {
          writer_->flush();  // a later run can resume from here
        }
        pacer.wait_until_due(report_.totals.items - report_.before);
      }
    }
    report_.seconds = progress.seconds();
  }

  [[noreturn]] void give_up(const Failure& failure) {
    if (options_.path.empty()) {
      throw failure;
    }
    if (failure.outcome() != Outcome::file) {
      writer_->flush();
    }
    throw Failure(failure.outcome(), std::string(failure.what()) + "; " +
                                         std::to_string(report_.totals.items) + " items are in " +
                                         part_name(options_.path) + "; --resume continues it");
  }

  Connection& server_;
  const ExportOptions& options_;
  std::unique_ptr<DumpWriter> writer_;
  TransferReport report_;
};

}  // namespace

TransferReport export_items(Connection& server, const ExportOptions& options) {
  return Export(server, options).run();
}

}  // namespace mxkv::cli
