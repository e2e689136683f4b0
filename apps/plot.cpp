// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/command.hpp"
#include "apps/figure.hpp"
#include "apps/options.hpp"
#include "apps/summary_table.hpp"
#include "solver/config/schema.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/montecarlo/columns.hpp"
#include "solver/montecarlo/result_files.hpp"
#include "solver/text.hpp"

namespace optinc {

namespace {

struct PlotOptions {
  std::vector<std::string> inputs;
  std::string out;
  std::vector<std::string> x;
  std::string y = "element_error_rate";
  std::vector<std::string> group;
  std::vector<std::string> where;
  std::string title;
  std::string x_scale = "auto";
  std::string y_scale = "auto";
  std::string band = "p05-p95";
  std::string script;
  int width_px = 1000;
  std::optional<int> height_px;
};

/// The column of names in results of `sweep --layers`.
constexpr const char* tensor_column = "tensor";

/// --where PATH=VALUE.
struct Filter {
  std::string path;
  std::string value;
};

bool is_numeric_axis(const std::string& path) {
  const ConfigKey* key = find_config_key(path);
  return key != nullptr && (key->type == ConfigType::real || key->type == ConfigType::integer);
}

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} [{}]", name, unit);
}

std::string axis_label(const std::string& path) {
  const ConfigKey* key = find_config_key(path);
  const std::string prefix = "imperfections.";
  const std::string shown = path.rfind(prefix, 0) == 0 ? path.substr(prefix.size()) : path;
  return with_unit(shown, key == nullptr ? "" : key->unit);
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names = {"yield"};
  for (const CsvColumn& column : metric_columns()) names.push_back(column.name);
  return names;
}

std::string metric_unit(const std::string& metric) {
  for (const CsvColumn& column : metric_columns()) {
    if (column.name == metric) return column.unit;
  }
  return "";
}

/// Metrics near a constant or of either sign read better on a linear axis.
bool linear_by_default(const std::string& metric) {
  const std::set<std::string> linear = {
      "yield",    "snr_db",         "cosine",   "contraction",
      "bias_lsb", "sign_agreement", "fidelity", "fidelity_normalised"};
  return linear.count(metric) != 0;
}

/// File values by their stem, numbers and words as they are.
std::string short_value(const std::string& path, const std::string& value) {
  const ConfigKey* key = find_config_key(path);
  if (key != nullptr && key->type == ConfigType::file) {
    return std::filesystem::path(value).stem().string();
  }
  return value;
}

/// Resolved choice of what is drawn, the same for all input files.
struct Selection {
  std::vector<std::string> x;
  std::vector<std::string> held;  ///< axes that are not shown and must be 0
  std::vector<std::string> group;
  std::vector<Filter> filters;
  std::string y_mean;
  std::string y_lo;  ///< empty: no band
  std::string y_hi;
};

/// The full name of an axis that an option names.
std::string resolve_axis(const std::string& name, const SummaryTable& table) {
  const std::vector<std::string> axes = table.axes();
  if (name == tensor_column && std::find(axes.begin(), axes.end(), name) == axes.end()) {
    throw ConfigError(fmt::format(
        "{}: has no column tensor (results of `optinc sweep --layers` do, in r.layers.csv); give "
        "such a file",
        table.path.string()));
  }
  return resolve_name(name, axes);
}

std::vector<Filter> parse_filters(const std::vector<std::string>& texts,
                                  const SummaryTable& table) {
  std::vector<Filter> filters;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw ConfigError(fmt::format("--where {} (must have the form PATH=VALUE)", text));
    }
    filters.push_back({resolve_axis(text.substr(0, equals), table), text.substr(equals + 1)});
  }
  return filters;
}

bool matches(const Filter& filter, const std::string& cell) {
  if (filter.path == tensor_column) return cell == filter.value;
  double wanted = 0;
  double found = 0;
  const bool same_number = !cell.empty() && parse_number(filter.value, wanted) &&
                           parse_number(cell, found) && wanted == found;
  return same_number || cell == filter.value || short_value(filter.path, cell) == filter.value;
}

bool passes(const SummaryTable& table, std::size_t row, const std::vector<Filter>& filters) {
  return std::all_of(filters.begin(), filters.end(), [&](const Filter& filter) {
    return matches(filter, table.rows[row][table.column(filter.path)]);
  });
}

void require_match(const SummaryTable& table, const Filter& filter) {
  std::set<std::string> values;
  for (const std::vector<std::string>& row : table.rows) {
    const std::string& cell = row[table.column(filter.path)];
    if (matches(filter, cell)) return;
    values.insert(short_value(filter.path, cell));
  }
  throw ConfigError(fmt::format("--where {}={}: no row has this value (there are: {})", filter.path,
                                filter.value, fmt::join(values, ", ")));
}

void require_numeric_axis(const std::string& path) {
  if (find_config_key(path) != nullptr && !is_numeric_axis(path)) {
    throw ConfigError(fmt::format("--x {} (holds names, not numbers); use --group", path));
  }
}

/// An axis of names has no zero to be held at, and no logarithm.
void require_tensor_alone(const PlotOptions& options, const std::vector<std::string>& x) {
  if (std::find(x.begin(), x.end(), tensor_column) == x.end()) return;
  if (x.size() > 1) {
    throw ConfigError("--x tensor does not go with another --x (it holds names); use --group");
  }
  if (options.x_scale == "log") {
    throw ConfigError("--x-scale log does not go with --x tensor (it holds names); leave it out");
  }
}

/// Whether a numeric axis is 0 wherever an axis of `x` is not, and takes other values: a sweep of
/// one effect at a time.
bool excludes_others(const SummaryTable& table, const std::string& axis,
                     const std::vector<std::string>& x) {
  if (!is_numeric_axis(axis) || x.front() == tensor_column) return false;
  bool takes_zero = false;
  bool takes_others = false;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const bool zero = table.number(row, table.column(axis)) == 0;
    takes_zero = takes_zero || zero;
    takes_others = takes_others || !zero;
    for (const std::string& path : x) {
      if (!zero && table.number(row, table.column(path)) != 0) return false;
    }
  }
  return takes_zero && takes_others;
}

void choose_columns(const std::string& metric, const std::string& band, Selection& selection) {
  if (metric == "yield") {
    selection.y_mean = "yield";
    if (band != "none") {
      selection.y_lo = "yield_ci_lo";
      selection.y_hi = "yield_ci_hi";
    }
    return;
  }
  selection.y_mean = metric + "_mean";
  if (band == "none") return;
  selection.y_lo = metric + (band == "ci" ? "_ci_lo" : "_p05");
  selection.y_hi = metric + (band == "ci" ? "_ci_hi" : "_p95");
}

Selection select(const PlotOptions& options, const SummaryTable& table) {
  const std::vector<std::string> axes = table.axes();
  Selection selection;
  for (const std::string& name : options.x) {
    selection.x.push_back(resolve_axis(name, table));
    require_numeric_axis(selection.x.back());
  }
  require_tensor_alone(options, selection.x);
  for (const std::string& name : options.group) {
    selection.group.push_back(resolve_axis(name, table));
  }
  selection.filters = parse_filters(options.where, table);
  const auto used = [&](const std::string& axis) {
    const auto is = [&](const std::string& other) { return other == axis; };
    return std::any_of(selection.x.begin(), selection.x.end(), is) ||
           std::any_of(selection.group.begin(), selection.group.end(), is) ||
           std::any_of(selection.filters.begin(), selection.filters.end(),
                       [&](const Filter& filter) { return filter.path == axis; });
  };
  if (options.x.empty()) {
    for (const std::string& axis : axes) {
      if (is_numeric_axis(axis) && !used(axis)) selection.x.push_back(axis);
    }
  }
  if (selection.x.empty()) {
    throw ConfigError(
        fmt::format("{}: has no numeric axis to draw against; give --x", table.path.string()));
  }
  if (options.group.empty()) {
    for (const std::string& axis : axes) {
      if (used(axis)) continue;
      (excludes_others(table, axis, selection.x) ? selection.held : selection.group)
          .push_back(axis);
    }
  }
  for (const Filter& filter : selection.filters) require_match(table, filter);
  choose_columns(resolve_name(options.y, metric_names()), options.band, selection);
  return selection;
}

/// One effect at a time: all x columns but `shown` are zero.
bool others_are_zero(const SummaryTable& table, std::size_t row, const Selection& selection,
                     const std::string& shown) {
  const auto is_zero = [&](const std::string& path) {
    return path == shown || table.number(row, table.column(path)) == 0;
  };
  return std::all_of(selection.x.begin(), selection.x.end(), is_zero) &&
         std::all_of(selection.held.begin(), selection.held.end(), is_zero);
}

std::string curve_label(const SummaryTable& table, std::size_t row, const Selection& selection,
                        bool name_file) {
  std::string label = name_file ? table.path.stem().stem().string() : "";
  for (const std::string& path : selection.group) {
    label += (label.empty() ? "" : ", ") + short_value(path, table.rows[row][table.column(path)]);
  }
  return label.empty() ? selection.y_mean : label;
}

FigureCurve& curve_named(FigurePanel& panel, const std::string& label) {
  for (FigureCurve& curve : panel.curves) {
    if (curve.label == label) return curve;
  }
  panel.curves.push_back({label, {}});
  return panel.curves.back();
}

/// Where a name is on the axis of names; new ones come last.
double category_position(const std::string& name, FigurePanel& panel) {
  std::vector<std::string>& names = panel.categories;
  const auto found = std::find(names.begin(), names.end(), name);
  const auto position = static_cast<double>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return position;
}

void add_rows(const SummaryTable& table, const Selection& selection, const std::string& x,
              bool name_file, FigurePanel& panel) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (!passes(table, row, selection.filters) || !others_are_zero(table, row, selection, x)) {
      continue;
    }
    const auto cell = [&](const std::string& name) {
      return name.empty() ? nan : table.number(row, table.column(name));
    };
    const double position =
        x == tensor_column ? category_position(table.rows[row][table.column(x)], panel) : cell(x);
    curve_named(panel, curve_label(table, row, selection, name_file))
        .points.push_back(
            {position, cell(selection.y_mean), cell(selection.y_lo), cell(selection.y_hi)});
  }
}

/// Log where the positive values span more than a factor of 30.
bool wants_log_x(const FigurePanel& panel) {
  if (!panel.categories.empty()) return false;
  double lo = std::numeric_limits<double>::infinity();
  double hi = 0;
  for (const FigureCurve& curve : panel.curves) {
    for (const FigurePoint& point : curve.points) {
      if (point.x < 0) return false;
      if (point.x == 0) continue;
      lo = std::min(lo, point.x);
      hi = std::max(hi, point.x);
    }
  }
  return hi > 30 * lo;
}

/// Takes out of the panel what it cannot show, saying so.
void remove_unshowable(FigurePanel& panel, const std::string& metric, std::ostream& err) {
  std::size_t off_axis = 0;
  std::size_t undefined = 0;
  for (FigureCurve& curve : panel.curves) {
    undefined += std::erase_if(curve.points, [](const FigurePoint& point) {
      return !std::isfinite(point.x) || !std::isfinite(point.y);
    });
    if (!panel.log_x) continue;
    off_axis += std::erase_if(curve.points, [](const FigurePoint& point) { return point.x <= 0; });
  }
  std::erase_if(panel.curves, [](const FigureCurve& curve) { return curve.points.empty(); });
  if (off_axis > 0) {
    err << fmt::format("optinc: {} points at {} <= 0 are not on the log axis\n", off_axis,
                       panel.x_label);
  }
  if (undefined > 0) {
    err << fmt::format("optinc: {} points against {} have no finite {} and are left out\n",
                       undefined, panel.x_label, metric);
  }
  if (panel.curves.empty()) {
    throw DataError(
        fmt::format("nothing to draw against {}: no row with a finite {} is left (check --y, "
                    "--where and --x; with several x only rows where the others are 0 count)",
                    panel.x_label, metric));
  }
}

std::string chip_range(const std::vector<SummaryTable>& tables) {
  double fewest = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const SummaryTable& table : tables) {
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const double chips = table.number(row, table.column("chips"));
      fewest = std::min(fewest, chips);
      most = std::max(most, chips);
    }
  }
  return fewest < most ? fmt::format("{} to {}", fewest, most) : fmt::format("{}", most);
}

std::string default_title(const std::vector<SummaryTable>& tables, const std::string& metric,
                          const std::string& band, const Figure& figure) {
  const bool yield = metric == "yield";
  const bool names = std::any_of(figure.panels.begin(), figure.panels.end(),
                                 [](const auto& panel) { return !panel.categories.empty(); });
  const std::string mark = names ? "bars" : "band";
  const std::string shown = band == "none" ? ""
                            : yield || band == "ci"
                                ? fmt::format("; {}: 95 % interval", mark)
                                : fmt::format("; {}: 5 to 95 % of the chips", mark);
  return fmt::format("{} {} chips{}", yield ? "share of" : "mean over", chip_range(tables), shown);
}

bool has_negative(const Figure& figure) {
  for (const FigurePanel& panel : figure.panels) {
    for (const FigureCurve& curve : panel.curves) {
      for (const FigurePoint& point : curve.points) {
        if (point.y < 0) return true;
      }
    }
  }
  return false;
}

bool wants_log_y(const PlotOptions& options, const std::string& metric, const Figure& figure) {
  if (options.y_scale == "linear") return false;
  const bool negative = has_negative(figure);
  if (options.y_scale == "auto") return !negative && !linear_by_default(metric);
  if (negative) {
    throw ConfigError(fmt::format("{} has negative values; use --y-scale linear", metric));
  }
  return true;
}

/// Adds what is drawn of one file, a panel per x axis.
void add_table(const PlotOptions& options, const SummaryTable& table, bool name_file,
               Figure& figure) {
  const Selection selection = select(options, table);
  figure.panels.resize(std::max(figure.panels.size(), selection.x.size()));
  for (std::size_t i = 0; i < selection.x.size(); ++i) {
    FigurePanel& panel = figure.panels[i];
    const std::string label = axis_label(selection.x[i]);
    if (!panel.x_label.empty() && panel.x_label != label) {
      throw ConfigError("the files have different axes; choose with --x");
    }
    panel.x_label = label;
    add_rows(table, selection, selection.x[i], name_file, panel);
  }
}

void finish_panel(const PlotOptions& options, const std::string& metric, FigurePanel& panel,
                  std::ostream& err) {
  panel.log_x = options.x_scale == "log" || (options.x_scale == "auto" && wants_log_x(panel));
  remove_unshowable(panel, metric, err);
  for (FigureCurve& curve : panel.curves) {
    std::stable_sort(curve.points.begin(), curve.points.end(),
                     [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
  }
}

/// Of a figure without --height: the names below the axis come on top.
int default_height_px(const Figure& figure) {
  constexpr std::size_t most_characters = 60;
  std::size_t longest = 0;
  for (const FigurePanel& panel : figure.panels) {
    for (const std::string& name : panel.categories) longest = std::max(longest, name.size());
  }
  return 500 + 8 * static_cast<int>(std::min(longest, most_characters));
}

Figure make_figure(const PlotOptions& options, CommandContext& context) {
  std::vector<SummaryTable> tables;
  for (const std::string& input : options.inputs) tables.push_back(read_summary(input));
  const std::string metric = resolve_name(options.y, metric_names());
  Figure figure;
  figure.y_label = with_unit(metric, metric_unit(metric));
  figure.width_px = options.width_px;
  for (const SummaryTable& table : tables) add_table(options, table, tables.size() > 1, figure);
  figure.title =
      options.title.empty() ? default_title(tables, metric, options.band, figure) : options.title;
  figure.height_px = options.height_px.value_or(default_height_px(figure));
  for (FigurePanel& panel : figure.panels) finish_panel(options, metric, panel, context.err);
  figure.log_y = wants_log_y(options, metric, figure);
  return figure;
}

/// What a plot reads and its figure.
std::vector<std::filesystem::path> files_of(const PlotOptions& options) {
  std::vector<std::filesystem::path> files = {options.out};
  for (const std::string& input : options.inputs) {
    files.insert(files.end(), {input, summary_file(input), manifest_file(input)});
  }
  return files;
}

CommandAction declare_plot(CLI::App& app) {
  const auto options = std::make_shared<PlotOptions>();
  app.add_option("RESULT", options->inputs, "results of `optinc sweep`: row or summary files")
      ->required();
  app.add_option("--out", options->out, "figure, .svg or .png")->required()->type_name("FILE");
  app.add_option("--x", options->x,
                 "axis to draw against; several give a panel each, with the others held at 0 "
                 "(default: every numeric axis); or tensor, in results of sweep --layers")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("--y", options->y, "metric, or yield")
      ->type_name("METRIC")
      ->default_str(options->y);
  app.add_option("--group", options->group,
                 "axis whose values give one curve each (default: every axis left over)")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("--where", options->where, "draw only rows with this value")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_choice_option(app, "--band", options->band, {"p05-p95", "ci", "none"},
                    "what is shaded: quantiles over the chips or the interval of the mean");
  add_choice_option(app, "--x-scale", options->x_scale, {"auto", "log", "linear"}, "x axis");
  add_choice_option(app, "--y-scale", options->y_scale, {"auto", "log", "linear"}, "y axis");
  app.add_option("--title", options->title, "title (default: chips and band)")->type_name("TEXT");
  app.add_option("--width", options->width_px, "width in pixels, 200 to 10000")
      ->check(whole_number(200, 10000))
      ->type_name("N")
      ->default_str("1000");
  app.add_option("--height", options->height_px,
                 "height in pixels, 150 to 10000; without it, --x tensor adds room for the names")
      ->check(whole_number(150, 10000))
      ->type_name("N")
      ->default_str("500");
  app.add_option("--script", options->script, "also write the gnuplot script here")
      ->type_name("FILE");
  return [options](CommandContext& context) {
    const Figure figure = make_figure(*options, context);
    if (!options->script.empty()) {
      require_other_file("--script", options->script, files_of(*options));
      const bool png = std::filesystem::path(options->out).extension() == ".png";
      write_file_atomically(options->script, gnuplot_script(figure, png, options->out));
    }
    draw_figure(figure, options->out);
    return ExitCode::done;
  };
}

}  // namespace

std::vector<Command> plot_commands() {
  return {
      {.name = "plot",
       .summary = "draw a metric against a swept axis",
       .description =
           "Reads the summary beside each result and draws the mean of a metric with a band, "
           "through gnuplot. On a log axis, points where nothing was observed (a rate of 0) "
           "are triangles at the lower edge.\n\n"
           "`--x tensor` draws r.layers.csv of `optinc sweep --layers` tensor by tensor, in the "
           "order of the trace: points with bars in place of the band, one curve per value of "
           "the other axes. Where names would overlap, every k-th is written; --width makes "
           "room. In --group and --where, tensor is an axis like the others.\n\n"
           "Column names may be shortened to an unambiguous ending: coupler.sigma_rad for "
           "imperfections.coupler.sigma_rad.",
       .examples = {{"optinc plot r.csv --out r.svg",
                     "Error rate against every numeric axis, a panel each:"},
                    {"optinc plot r.csv --out r.png --x coupler.sigma_rad --y nmse "
                     "--where workload.trace=llama_wikitext2",
                     "One metric, one axis, one workload:"},
                    {"optinc plot r.layers.csv --x tensor --out t.svg "
                     "--where phase.fabrication_sigma_rad=0.001",
                     "Error rate of every tensor at one point of the sweep:"}},
       .declare = declare_plot}};
}

}  // namespace optinc
