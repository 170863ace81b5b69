#include "protocol/clients/cli/transfer/dump.hpp"

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/block_file.hpp"
#include "protocol/clients/cli/transfer/json_lines.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

/// Editors put this mark before the first line of JSON. It belongs to no line, and no checksum covers it.
void skip_byte_order_mark(InputFile& file) {
  const std::string_view begin = file.peek(3);
  file.skip(begin.size() - runtime::without_byte_order_mark(begin).size());
}

}  // namespace

std::unique_ptr<DumpWriter> begin_dump(DumpForm form, OutputFile& file, const std::string& range_text,
                                       bool compressed) {
  return form == DumpForm::blocks ? begin_blocks(file, range_text, compressed)
                                  : begin_json_lines(file, range_text);
}

std::unique_ptr<DumpWriter> resume_dump(DumpForm form, OutputFile& file, InputFile& before, bool compressed) {
  skip_byte_order_mark(before);
  return form == DumpForm::blocks ? resume_blocks(file, before, compressed) : resume_json_lines(file, before);
}

std::unique_ptr<DumpReader> open_dump(InputFile& file) {
  constexpr std::size_t kMagicBytes = 8;
  skip_byte_order_mark(file);
  const std::string_view begin = file.peek(kMagicBytes);
  // A first byte that cannot begin a line of JSON means blocks, perhaps damaged ones.
  const bool lines =
      begin.empty() || begin[0] == '{' || begin[0] == ' ' || begin[0] == '\n' || begin[0] == '\r';
  return lines ? open_json_lines(file) : open_blocks(file);
}

DumpSurvey survey_dump(InputFile& file) {
  DumpSurvey survey;
  survey.form = begins_as_blocks(file.peek(8)) ? DumpForm::blocks : DumpForm::json_lines;
  const auto reader = open_dump(file);
  DumpTotals seen;
  Item item;
  try {
    while (reader->next(item)) {
      ++seen.items;
      seen.bytes += item.key.size() + item.value.size();
      // In the block format only at a block's end: a resumed export cuts off everything behind `whole_bytes`.
      if (reader->whole_bytes() != survey.whole_bytes) {
        survey.whole_bytes = reader->whole_bytes();
        survey.totals = seen;
        survey.last_key = item.key;
      }
    }
    survey.finished = true;
  } catch (const Failure& failure) {
    if (failure.outcome() != Outcome::file) {
      throw;
    }
  }
  if (survey.totals.items == 0) {
    survey.whole_bytes = reader->whole_bytes();
  }
  survey.range_text = reader->range_text();
  return survey;
}

}  // namespace mxkv::cli
