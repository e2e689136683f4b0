// SPDX-License-Identifier: Apache-2.0
#include "apps/figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "apps/find_program.hpp"
#include "apps/process.hpp"
#include "solver/error.hpp"
#include "solver/io/atomic_file.hpp"

namespace optinc {

namespace {

/// Okabe and Ito's palette, distinguishable with colour-vision deficiencies.
constexpr std::array<const char*, 7> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};
constexpr std::array<int, 7> point_types = {7, 5, 9, 13, 11, 4, 6};

bool is_control(char character) {
  return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
}

/// A single-quoted gnuplot string, which takes everything literally; between double quotes gnuplot
/// would run what stands in backquotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) {
    if (character == '\'') result += '\'';
    result += is_control(character) ? ' ' : character;
  }
  return result + '\'';
}

/// A path that gnuplot takes for a file name: a leading '|' would be a pipe.
std::string quoted_path(const std::filesystem::path& path) {
  return quoted((path.is_absolute() ? path : "." / path).string());
}

struct Range {
  double lo = std::numeric_limits<double>::infinity();
  double hi = -std::numeric_limits<double>::infinity();
  bool has_zero = false;

  void include(double value, bool positive_only) {
    if (!std::isfinite(value)) return;
    if (positive_only && value <= 0) {
      has_zero = true;
      return;
    }
    lo = std::min(lo, value);
    hi = std::max(hi, value);
  }
  bool empty() const { return lo > hi; }
};

Range value_range(const Figure& figure) {
  Range range;
  for (const FigurePanel& panel : figure.panels) {
    for (const FigureCurve& curve : panel.curves) {
      for (const FigurePoint& point : curve.points) {
        range.include(point.y, figure.log_y);
        range.include(point.hi, figure.log_y);
        if (!figure.log_y) range.include(point.lo, false);
      }
    }
  }
  return range;
}

/// Lower and upper end of the y axis, with room for the triangles of zeros on a log axis.
Range axis_range(const Figure& figure) {
  const Range values = value_range(figure);
  Range axis;
  axis.has_zero = values.has_zero;
  if (figure.log_y) {
    axis.lo = values.empty() ? 1e-6 : std::pow(10.0, std::floor(std::log10(values.lo)) - 1);
    axis.hi = values.empty() ? 1.0 : std::pow(10.0, std::ceil(std::log10(values.hi)));
    if (axis.hi <= axis.lo) axis.hi = axis.lo * 10;
    return axis;
  }
  const double lo = values.empty() ? 0 : values.lo;
  const double hi = values.empty() ? 1 : values.hi;
  const double margin = hi > lo ? 0.05 * (hi - lo) : std::max(0.05 * std::abs(hi), 0.05);
  axis.lo = lo - margin;
  axis.hi = hi + margin;
  return axis;
}

/// Data block: x, y, band low, band high (clamped to the axis), flag 1 for a zero on a log axis.
std::string data_block(const FigureCurve& curve, const std::string& name, const Figure& figure,
                       const Range& axis) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (const FigurePoint& point : curve.points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
    const auto shown = [&](double value) {
      return figure.log_y ? std::max(value, axis.lo) : value;
    };
    const bool zero = figure.log_y && point.y <= 0;
    const double lo = std::isfinite(point.lo) ? point.lo : point.y;
    const double hi = std::isfinite(point.hi) ? point.hi : point.y;
    block += fmt::format("{} {} {} {} {}\n", point.x, zero ? axis.lo * 2 : shown(point.y),
                         shown(lo), shown(hi), zero ? 1 : 0);
  }
  return block + "EOD\n";
}

/// The column of x: points of one category stand beside each other, a curve's all at one side.
std::string x_column(const FigurePanel& panel, std::size_t curve) {
  if (panel.categories.empty()) return "1";
  const double share =
      (static_cast<double>(curve) + 0.5) / static_cast<double>(panel.curves.size());
  return fmt::format("($1+{:.4g})", 0.6 * (share - 0.5));
}

std::string curve_commands(const FigurePanel& panel, std::size_t index, const std::string& name,
                           bool zeros) {
  const std::string colour = colours[index % colours.size()];
  const std::string x = x_column(panel, index);
  const std::string look =
      fmt::format("pt {} ps 0.8 lc rgb '{}' title {}", point_types[index % point_types.size()],
                  colour, quoted(panel.curves[index].label));
  std::string commands;
  if (panel.categories.empty()) {
    commands = fmt::format(
        "${} using {}:3:4 with filledcurves fs transparent solid 0.18 noborder lc rgb '{}' "
        "notitle, ${} using {}:($5==0?$2:NaN) with linespoints lw 2 {}",
        name, x, colour, name, x, look);
  } else {
    commands =
        fmt::format("${} using {}:($5==0?$2:NaN):3:4 with yerrorbars lw 2 {}", name, x, look);
  }
  if (zeros) {
    commands += fmt::format(
        ", ${} using {}:($5==1?$2:NaN) with points pt 10 ps 1.1 lw 1.5 lc rgb '{}' notitle", name,
        x, colour);
  }
  return commands;
}

/// The last characters of a UTF-8 text, marked where something was cut off.
std::string last_characters(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t start = text.size(); start-- > 0;) {
    const bool inside_character = (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U;
    if (inside_character || ++characters < most || start == 0) continue;
    return "\u2026" + text.substr(start);
  }
  return text;
}

/// For labels, in which gnuplot takes % for a number format.
std::string with_doubled_percent(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (character == '%') result += '%';
    result += character;
  }
  return result;
}

std::string category_tics(const Figure& figure, const FigurePanel& panel) {
  constexpr int pixels_per_label = 25;
  constexpr int pixels_per_character = 8;
  const auto most_labels =
      static_cast<std::size_t>(std::max(1, figure.width_px / pixels_per_label));
  const auto most_characters =
      static_cast<std::size_t>(std::max(8, figure.height_px / (2 * pixels_per_character)));
  const std::size_t step = (panel.categories.size() + most_labels - 1) / most_labels;
  std::string labels;
  for (std::size_t i = 0; i < panel.categories.size(); i += step) {
    const std::string name = last_characters(panel.categories[i], most_characters);
    labels += fmt::format("{}{} {}", i == 0 ? "" : ", ", quoted(with_doubled_percent(name)), i);
  }
  return fmt::format("set xtics ({}) rotate by 90 right noenhanced\nset errorbars small\n", labels);
}

/// The x axis ends at the data: a log axis would otherwise run on to the next decade.
std::string x_range(const FigurePanel& panel) {
  if (!panel.categories.empty()) {
    return fmt::format("set xrange [-0.5:{}.5]\n", panel.categories.size() - 1);
  }
  Range range;
  for (const FigureCurve& curve : panel.curves) {
    for (const FigurePoint& point : curve.points) range.include(point.x, panel.log_x);
  }
  if (range.empty() || range.lo == range.hi) return "set autoscale x\n";
  return fmt::format("set xrange [{}:{}]\n", range.lo, range.hi);
}

std::string panel_commands(const Figure& figure, std::size_t panel_index, const Range& axis) {
  const FigurePanel& panel = figure.panels[panel_index];
  const bool first = panel_index == 0;
  std::string script;
  std::string plots;
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    const std::string name = fmt::format("curve_{}_{}", panel_index, i);
    script += data_block(panel.curves[i], name, figure, axis);
    plots += (plots.empty() ? "" : ", \\\n  ") + curve_commands(panel, i, name, axis.has_zero);
  }
  script += fmt::format("set xlabel {}\n", quoted(panel.x_label));
  script += first ? fmt::format("set ylabel {}\n", quoted(figure.y_label)) : "unset ylabel\n";
  script += panel.log_x ? "set logscale x\nset format x '10^{%L}'\n"
                        : "unset logscale x\nset format x '%g'\n";
  if (!panel.categories.empty()) script += category_tics(figure, panel);
  script += x_range(panel);
  if (axis.has_zero) {
    plots += ", \\\n  NaN with points pt 10 ps 1.1 lc rgb '#555555' title \"none observed\"";
  }
  return script + "plot " + plots + "\n";
}

void require_plain_name(const std::filesystem::path& output) {
  const std::string name = output.string();
  if (std::any_of(name.begin(), name.end(), is_control)) {
    throw ConfigError("a figure's name holds a line break or control character; choose another");
  }
}

/// gnuplot does not report that a figure could not be written to its end.
bool is_whole(const std::string& figure, bool png) {
  constexpr std::size_t longest_end = 16;
  const std::size_t start = figure.size() - std::min(figure.size(), longest_end);
  return figure.find(png ? "IEND" : "</svg>", start) != std::string::npos;
}

}  // namespace

std::string gnuplot_script(const Figure& figure, bool png, const std::filesystem::path& output) {
  const Range axis = axis_range(figure);
  std::string script = fmt::format(
      "set encoding utf8\nset terminal {} size {},{} enhanced font 'sans,{}' background '#ffffff'\n"
      "set output {}\n",
      png ? "pngcairo" : "svg", figure.width_px, figure.height_px, png ? 11 : 13,
      quoted_path(output));
  script +=
      "set grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\nset tics nomirror out\n"
      "set key bottom center outside horizontal noenhanced samplen 2\n"
      "set xlabel noenhanced\nset ylabel noenhanced\nset title noenhanced\n";
  script += fmt::format("set yrange [{}:{}]\n", axis.lo, axis.hi);
  if (figure.log_y) script += "set logscale y\nset format y '10^{%L}'\n";
  script += fmt::format("set multiplot layout 1,{} title {} noenhanced\n", figure.panels.size(),
                        quoted(figure.title));
  for (std::size_t i = 0; i < figure.panels.size(); ++i) script += panel_commands(figure, i, axis);
  return script + "unset multiplot\nunset output\n";
}

void draw_figure(const Figure& figure, const std::filesystem::path& output) {
  const bool png = output.extension() == ".png";
  if (!png && output.extension() != ".svg") {
    throw ConfigError(fmt::format("{}: must end in .svg or .png", output.string()));
  }
  require_plain_name(output);
  const std::filesystem::path gnuplot = find_program("gnuplot");
  if (gnuplot.empty()) {
    throw BackendError("gnuplot is not found in PATH (install the package gnuplot-nox)");
  }
  replace_atomically(output, [&](const std::filesystem::path& temporary) {
    std::filesystem::path script = temporary;
    script += ".gp";
    write_file_atomically(script, gnuplot_script(figure, png, temporary));
    const ProcessResult result = run_program(gnuplot, {"-d", script.string()});
    std::error_code error;
    std::filesystem::remove(script, error);
    const std::string content = read_text_file(temporary);
    if (result.exit_code != 0 || content.empty()) {
      throw BackendError(
          fmt::format("gnuplot failed (status {}): {}", result.exit_code, result.error_output));
    }
    if (!is_whole(content, png)) {
      throw DataError(fmt::format(
          "cannot write {} (gnuplot wrote a part of it only); check the folder and its free space",
          output.string()));
    }
  });
}

}  // namespace optinc
