package setup

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/rego"
)

// What init writes besides the pack.
var (
	//go:embed starter/holdgate.yaml
	starterConfig []byte
	//go:embed starter/rules/deploys.rego
	starterRule []byte
	//go:embed starter/rules/deploys_test.rego
	starterTest []byte
	//go:embed starter/rules/settings.yaml
	starterSettings []byte
)

// packFolder is where init puts the shipped pack.
const packFolder = "shipped-policies"

func initCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "init",
		UsageText: "holdgate init",
		Usage:     "write a configuration, rules of your own, and the shipped policy",
		ArgsUsage: "[FOLDER]",
		Description: "Writes holdgate.yaml, rules/ (a rule and its test) and " + packFolder + "/ into FOLDER, by default\n" +
			"~/.config/holdgate, where every command finds them. Keep it where no agent can write. Files that are\n" +
			"there already stay as they are.",
		Flags:  []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error { return e.initFolder(c) },
	}
}

func (e *env) initFolder(c *cli.Context) error {
	if c.NArg() > 1 {
		return command.Usage("one FOLDER is enough, got %q too", c.Args().Get(1))
	}
	dir := c.Args().First()
	if dir == "" {
		if dir = config.Folder(e.Getenv); dir == "" {
			return command.Usage("neither HOME nor XDG_CONFIG_HOME is set: name a FOLDER")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("finding the folder: %w", err)
	}
	w := starter{dir: dir}
	for name, body := range map[string][]byte{
		"holdgate.yaml": starterConfig, "rules/deploys.rego": starterRule, "rules/deploys_test.rego": starterTest, "rules/settings.yaml": starterSettings,
	} {
		w.write(name, body)
	}
	w.writePack()
	if w.err != nil {
		return fmt.Errorf("writing the folder: %w", w.err)
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, map[string]any{"folder": dir, "written": len(w.written), "kept": w.kept, "pack_differs": w.packDiffers})
	}
	if w.packDiffers {
		fmt.Fprintf(e.Stdout, "kept     %s, though it is not this version's pack: remove it and run this again\n", holdgate.Visible(filepath.Join(dir, packFolder)))
	}
	if len(w.kept) > 0 {
		fmt.Fprintf(e.Stdout, "kept     %d files that were there as they are; --json names them\n", len(w.kept))
	}
	fmt.Fprintf(e.Stdout, "wrote    %d files to %s\n\n", len(w.written), holdgate.Visible(dir))
	named := ""
	if dir == config.Folder(e.Getenv) {
		fmt.Fprint(e.Stdout, "Every command finds holdgate.yaml there, unless --config or "+config.EnvConfig+" names another.\n\n")
	} else {
		named = " --config " + holdgate.Visible(filepath.Join(dir, "holdgate.yaml"))
	}
	stock := "opa test " + holdgate.Visible(filepath.Join(dir, "rules")) + " " + holdgate.Visible(filepath.Join(dir, packFolder))
	_, err = fmt.Fprintf(e.Stdout, "check    holdgate policy check%s\ntest     holdgate policy test%[1]s\n         %s\nrun      holdgate serve%[1]s\n", named, stock)
	return err
}

// A starter writes files that are not there yet, until the first error.
type starter struct {
	dir     string
	written []string
	kept    []string
	err     error

	packDiffers bool // the folder of the pack holds another version's
}

func (w *starter) write(name string, body []byte) {
	if w.err != nil {
		return
	}
	file := filepath.Join(w.dir, filepath.FromSlash(name))
	if w.err = os.MkdirAll(filepath.Dir(file), 0o700); w.err != nil {
		return
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		w.kept = append(w.kept, file)
		return
	}
	if err != nil {
		w.err = err
		return
	}
	_, err = f.Write(body)
	w.err = errors.Join(err, f.Close())
	w.written = append(w.written, file)
}

// writePack writes the shipped pack. It adds nothing to another version's: two
// versions in one folder are no policy.
func (w *starter) writePack() {
	pack := rego.Pack()
	if w.packDiffers = differs(os.DirFS(filepath.Join(w.dir, packFolder)), pack); w.packDiffers {
		return
	}
	err := fs.WalkDir(pack, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(pack, name)
		if err != nil {
			return err
		}
		w.write(packFolder+"/"+name, body)
		return w.err
	})
	w.err = errors.Join(w.err, err)
}

// differs reports whether there has a rule or a setting that pack does not have as it is.
func differs(there, pack fs.FS) bool {
	found := false
	_ = fs.WalkDir(there, ".", func(name string, entry fs.DirEntry, err error) error {
		if ext := path.Ext(name); err != nil || entry.IsDir() || ext != ".rego" && ext != ".yaml" {
			return nil
		}
		body, _ := fs.ReadFile(there, name)
		own, err := fs.ReadFile(pack, name)
		if found = err != nil || !bytes.Equal(body, own); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}
