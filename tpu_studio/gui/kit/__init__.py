"""The design kit of the window: colours, type, icons and every painted widget. Pages are built from these alone.

Import from the module that is named (``from tpu_studio.gui.kit.button import Button``). Nothing here imports numpy or
pyqtgraph; plots live in `gui/plots`. `python -m tpu_studio.gui.kit.gallery --out DIR` photographs everything.

Rules for pages
    * Call `theme.install(app)` once before the first widget. Never write a colour, font or pixel size: use a token
      (``tone="text_2"``), a role (``role="section"``), `tokens.Space`.
    * Texts are plain: '&' and '<' show as they are. `Text` wraps; `Line` shortens with an ellipsis, all of it on hover.
    * One ``kind="primary"`` button per screen. Prefer changing a widget (`set_…`) to building it anew.
    * `set_value`, `set_share` and their like are silent; signals speak of what a person did.
      (Exceptions, as in Qt: `SpinBox.setValue`, `DecimalBox.setValue`, `Switch.setChecked`.)
    * In a row beside wrapping words use stretches, not `layout.setAlignment(layout, …)`: Qt then forgets their height.

Theme, type, icons
    theme       install(app, *, mode="system", text_scale=1.0, contrast="system") -> ThemeController
                controller() -> ThemeController   changed; set_mode, set_contrast, set_text_scale,
                                                       set_reduce_motion
                theme() -> Theme; ink(token, alpha=1.0) -> QColor; px(length) -> int (grows with the text size)
                Themed mix-in: follow_theme() last in __init__; override restyle()
    tokens      Theme, LIGHT, DARK, Space, Radius, Height, FORM_WIDTH, FOLD_SIDEBAR_BELOW, FOLD_ESTIMATE_BELOW
    fonts       font(role, *, numbers=False) -> QFont; ROLES: page-title big-number medium-number card-title section
                plot-title body body-medium row-title label label-strong secondary button button-primary button-main
                caption caption-medium caption-strong mono
    icons       paint(painter, name, at, colour, size); pixmap(name, colour, size, ratio); icon(name, colour, size)
    brand       BrandMark(*, side=30); app_icon() -> QIcon
    motion      Glide(widget, duration_ms, start=0.0): .to(value), .jump(value), .value

Words and surfaces
    text        Text(text, role="body", tone="text", *, numbers=False, align=AlignLeft, max_width=None)   wraps
                Line(text, role="body", tone="text", *, numbers=False, align=AlignLeft, fit=False)        one line
                both: setText, set_tone(token)
    card        Card(*, margins=20, spacing=12, strong=False, tone="card", radius=12): .body (QVBoxLayout),
                    .title(text, *right_widgets, role="section") -> Line
                Surface(tone="window", *, line=False); Divider(*, vertical=False); Strip(text, kind="accent", icon=…)
                PageHeader(title, sentence="", *actions): set_title, set_sentence, add_action
                FactRow(label, value=""): set_value;  Scroll(content);  clear_layout(layout)
    page        ColumnPage(): .column (QVBoxLayout), .scroller; one column that scrolls, no wider than a line may be
    pill        Pill(text, kind="neutral"|"accent"|"ok"|"warn"|"bad", *, dot=False, icon=""): set_pill(text, kind, …)
                IconTile(icon, kind="neutral"|…|"violet", *, side=40, icon_size=20): set_icon
                Icon(name, tone="text_2", *, size=16)

Acting and choosing
    button      Button(text, kind="secondary"|"primary"|"quiet"|"danger"|"link", *, size="normal"|"small"|"main",
                    icon="", hover="", name=""): setText, set_kind, set_icon, stretch(); clicked
                IconButton(icon, name, *, side=30, icon_size=18, tone="text_2"); clicked
    choose      Segmented([(key, text)], value="", *, name, small=False): changed(key), value, set_value,
                    set_segment_enabled(key, enabled, why)
                Switch(name, on=False); SwitchRow(title, explanation="", on=False): toggled(bool), isChecked, setChecked
                CheckBox(text, on=False); ChoiceCard(title, text="", detail="", *, icon="", key=""): set_words
                ChoiceGroup(cards, *, name, columns=0): changed(key), value, set_value, card(key)
    fields      Field(label, box, help="", *, explain=False): set_help, set_error(sentence, offers=()),
                    help_asked, offered(key), .box
                LineEdit(text="", *, name="", suffix="", placeholder="", icon=""); textChanged and the rest of QLineEdit
                ComboBox([(key, text)], value="", *, name=""): chosen(key), value, set_value, set_options
    numberedit  SpinBox(value, low, high, *, step=1, name="", suffix="", doubling=False): valueChanged(int), value()
                DecimalBox(value, low, high, *, step=0.1, decimals=6, …): valueChanged(float), value()
                    both: doubted(sentence), doubt
    nav         Sidebar([NavItem(key, text, icon, hint="")]): page_chosen(key), new_run, settings; select(key),
                    set_live(key, word="Live"), adapt(window_width), show_money(bool),
                    .money.set_money(spent, share, cap), .person.set_person(name, project)

Rows, bars and numbers
    rows        SummaryRow(label, title, facts="", *, icon, action="Change"): change; set_summary(title, facts, icon)
                Note(title, text="", kind="accent"|"warn"|"bad"|"ok"|"neutral", *, action="", icon="", closes=False):
                    acted, closed; set_words(title, text), set_kind(kind)
                CheckRow(title, text="", *, icon, tone="ok", state="", action="", blocking=False): acted
    bars        ProgressBar(share=0.0, *, name, tone="accent", height=6): set_share(share, words=""), set_tone
                QuotaBar(used, allowed, *, name)
                MemoryBar(): set_memory([MemoryPart(name, size_bytes)], room_bytes, total)
    timeline    StageTimeline([Stage(name, state="done"|"current"|"ahead"|"failed"|"stopped"|"skipped", caption="",
                    progress=0.0, weight=1.0)]): set_stages; training has weight 2.6
    numbers     BigNumberRow(*labels, medium=False): tile(label) -> BigNumber
                BigNumber.set_number(number, unit="", context="", *, icon="", tone="text_2", share=None, stale="");
                    set_label(label)

Places, questions and notices
    events      EventList(): set_lines([EventLine(time, icon, text, tone="text_2", more="")])
    rail        StepRail(count): set_steps([Step(key, title, summary="", state="done"|"current"|"ahead", tone)]),
                    chosen(key)
    slider      MoneySlider(amount, most, *, name, step=0.25): moved(float), amount, set_amount, set_range, set_estimate
    states      EmptyState(title, text="", *, icon, action="", action_icon="", kind="primary",
                    alternative=""): acted, turned
                Skeleton(rows=4);  Loading(title, *, usual="", stop="", rows=4): set_progress(share, "4 of 11"), stopped
                WayOut(number, title, text, action): taken
                DropZone(title, text, *, action, icon): dropped([Path]), browse
    notice      Notices(window).show(title, text="", kind="accent"|"ok"|"warn"|"bad", *, action=""): acted, gone
                announce(widget, words)   to a screen reader
    explainer   Explainer(term, text, [Help(text, action="", key="")], *, badge=None): acted(key);
                open_at(widget, keeps=None)
    spark       SparkLine(values, words, *, tone="accent"): set_values;  draw_spark(painter, box, values, tone)
    table       Table([Column(title, width=0, kind="text"|"number")], *, name, all_rows=False):
                    set_rows([(key, [Cell|str])]), value, chosen(key), opened(key) on Enter and double click
                Cell(text="", below="", icon="", pill="", dot=False, swatch="", spark=(), strong=False, tone="",
                    words="")
"""
