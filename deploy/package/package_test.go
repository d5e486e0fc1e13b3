// Package packages tests what deploy/package/build makes, and the unit of systemd in it.
package packages_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packagesVariable names the folder that deploy/package/build or release has filled.
const packagesVariable = "HOLDGATE_PACKAGES"

// built are the packages and archives of the folder.
func built(t *testing.T) (files []string) {
	t.Helper()
	folder := os.Getenv(packagesVariable)
	for _, end := range []string{"deb", "rpm", "tar.gz", "zip"} {
		found, err := filepath.Glob(filepath.Join(folder, "*."+end))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if folder == "" || len(files) == 0 {
		t.Skip("deploy/package/build FOLDER makes packages, and " + packagesVariable + " names their folder")
	}
	return files
}

// platform is the system and the processor that a file is for, by its name.
func platform(file string) (system, processor string) {
	name := filepath.Base(file)
	system = "linux"
	for _, other := range []string{"darwin", "windows"} {
		if strings.Contains(name, other) {
			system = other
		}
	}
	processor = "amd64"
	if strings.Contains(name, "arm64") || strings.Contains(name, "aarch64") {
		processor = "arm64"
	}
	return system, processor
}

// wanted are the files of a package or an archive, the program first.
func wanted(file string) []string {
	const doc = "usr/share/doc/holdgate/"
	switch filepath.Ext(file) {
	case ".zip":
		return []string{"holdgate.exe", "LICENSE", "NOTICE", "README.md"}
	case ".gz":
		return []string{"holdgate", "LICENSE", "NOTICE", "README.md", "holdgate.1.gz", "holdgate.bash", "holdgate.zsh", "holdgate.fish"}
	}
	return []string{"usr/bin/holdgate", doc + "copyright", doc + "NOTICE", doc + "README.md", doc + "holdgate.cdx.json", "usr/share/man/man1/holdgate.1.gz",
		"usr/share/bash-completion/completions/holdgate", "usr/share/zsh/vendor-completions/_holdgate", "usr/share/fish/vendor_completions.d/holdgate.fish",
		"usr/lib/systemd/system/holdgate.service", "usr/lib/sysusers.d/holdgate.conf", "etc/holdgate/holdgate.yaml"}
}

// Whatever was built for a system has a program for it, and what belongs to one.
func TestPackagesHaveAllThatBelongsToThem(t *testing.T) {
	for _, file := range built(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			all, err := read(file)
			if err != nil {
				t.Fatal(err)
			}
			want := wanted(file)
			for _, path := range want {
				if len(all[path]) == 0 {
					t.Errorf("there is no %s", path)
				}
			}
			system, processor := platform(file)
			if err := isFor(all[want[0]], system, processor); err != nil {
				t.Error(err)
			}
			if !bytes.Contains(all[want[2]], []byte("github.com/open-policy-agent/opa")) {
				t.Error("NOTICE names no OPA")
			}
			namesNoMachine(t, all)
		})
	}
}

// Beside each archive lies the bill of materials of its own program; a package has its bill in it.
func TestArchivesHaveTheirBillBesideThem(t *testing.T) {
	for _, file := range built(t) {
		name := strings.TrimSuffix(strings.TrimSuffix(file, ".tar.gz"), ".zip")
		if name == file {
			continue
		}
		raw, err := os.ReadFile(name + ".cdx.json")
		if err != nil {
			t.Error(err)
			continue
		}
		var bill struct {
			BOMFormat  string
			Metadata   struct{ Component struct{ PURL string } }
			Components []struct{ Name string }
		}
		if err := json.Unmarshal(raw, &bill); err != nil || bill.BOMFormat != "CycloneDX" {
			t.Errorf("%s: %v, format %q", name, err, bill.BOMFormat)
		}
		system, processor := platform(file)
		if of := bill.Metadata.Component.PURL; !strings.Contains(of, "goarch="+processor) || !strings.Contains(of, "goos="+system) {
			t.Errorf("%s: the bill is of %s", name, of)
		}
		if !slices.ContainsFunc(bill.Components, func(c struct{ Name string }) bool { return c.Name == "github.com/open-policy-agent/opa" }) {
			t.Errorf("%s: the bill names no OPA", name)
		}
	}
}

// The list of checksums names every file that is given away, and no other.
func TestChecksumsAreOfWhatIsThere(t *testing.T) {
	files := built(t)
	folder := filepath.Dir(files[0])
	bills, err := filepath.Glob(filepath.Join(folder, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, file := range append(files, bills...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want[filepath.Base(file)] = fmt.Sprintf("%x", sha256.Sum256(raw))
	}
	list, err := os.ReadFile(filepath.Join(folder, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		got[name] = sum
	}
	if !maps.Equal(got, want) {
		t.Errorf("checksums.txt has %v, want %v", got, want)
	}
}

// isFor says why a program is not one for a system and a processor.
func isFor(program []byte, system, processor string) error {
	r := bytes.NewReader(program)
	info, err := buildinfo.Read(r)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if set["GOOS"] != system || set["GOARCH"] != processor || set["-trimpath"] != "true" || set["CGO_ENABLED"] != "0" {
		return fmt.Errorf("the program was built with %v, want one for %s/%s", set, system, processor)
	}
	var is string
	switch system {
	case "linux":
		f, err := elf.NewFile(r)
		if err != nil {
			return err
		}
		is = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine]
	case "darwin":
		f, err := macho.NewFile(r)
		if err != nil {
			return err
		}
		is = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu]
	case "windows":
		f, err := pe.NewFile(r)
		if err != nil {
			return err
		}
		is = map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[f.Machine]
	}
	if is != processor {
		return fmt.Errorf("the program is for the processor %q, want %s", is, processor)
	}
	return nil
}

// namesNoMachine fails the test where a file has a path of the machine that it was built on.
func namesNoMachine(t *testing.T, all content) {
	t.Helper()
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{clone}
	for name, below := range map[string]string{"GOROOT": "/src/", "GOMODCACHE": "/", "GOCACHE": "/"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		if path := strings.TrimSpace(string(out)); path != "" {
			paths = append(paths, path+below)
		}
	}
	for name, text := range all {
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text, err = io.ReadAll(z); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if i := slices.IndexFunc(paths, func(path string) bool { return bytes.Contains(text, []byte(path)) }); i >= 0 {
			t.Errorf("%s names %s, a path of this machine", name, paths[i])
		}
	}
}

// mostExposed is what docs/operations.md says of the unit, in tenths: 0 is the best, 100 the worst.
const mostExposed = 13

// measures is the first version of systemd that knows all of the unit and measures it as the docs
// say: an older one gives other figures, or none.
const measures = 252

// unmeasured says why the systemd that is here cannot measure the unit; empty where it can.
func unmeasured(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return "systemd-analyze is not here (apt-get install systemd)"
	}
	said := func(option string) string {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "--no-pager", option).CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return string(out)
	}
	version := said("--version")
	var number int
	if _, err := fmt.Sscanf(version, "systemd %d", &number); err != nil || number < measures {
		first, _, _ := strings.Cut(version, "\n")
		return fmt.Sprintf("systemd-analyze is %q, and %d or later is needed", first, measures)
	}
	if !strings.Contains(said("--help"), "--offline") {
		return "systemd-analyze has no option --offline"
	}
	return ""
}

// A systemd that cannot measure the unit says nothing of it.
func TestAnOlderSystemdMeasuresNothing(t *testing.T) {
	for _, tt := range []struct{ name, version, help, want string }{
		{"an older one", "systemd 249 (249.11-0ubuntu3)", "--offline=BOOL", "252 or later"},
		{"one without the option", "systemd 252 (252.38)", "--threshold=N", "--offline"},
		{"something else", "elogind", "--offline=BOOL", "252 or later"},
		{"one that can", "systemd 257~rc1 (257~rc1)", "--offline=BOOL", ""},
		{"none", "", "", "apt-get install systemd"},
	} {
		bin := t.TempDir()
		if tt.version != "" {
			script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*--version) echo '%s';;\n*--help) echo '%s';;\nesac\n", tt.version, tt.help)
			if err := os.WriteFile(filepath.Join(bin, "systemd-analyze"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", bin)
		if got := unmeasured(t); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The service is as hardened as the docs say, by systemd's own measure.
func TestTheUnitIsHardened(t *testing.T) {
	if why := unmeasured(t); why != "" {
		t.Skip("HOW HARDENED THE UNIT IS WAS NOT MEASURED: " + why)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true", fmt.Sprintf("--threshold=%d", mostExposed), "holdgate.service").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if says := fmt.Sprintf("%d.%d", mostExposed/10, mostExposed%10); !strings.Contains(string(page), says) {
		t.Errorf("docs/operations.md does not say %s", says)
	}
}
