package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// reported is one failure that users of such tools have reported in public, and the tests that show that it does not
// happen here. The row is the number by which the comments of those tests name it (cases.md), 0 in section K.
type reported struct {
	row    int
	source string // the thread, one of them, on GitHub
	says   string
	tests  []string // in this package, or in the one whose folder is named
}

// cases are the reported failures, by section.
var cases = []reported{
	// A. Stale locks
	{1, "flux-iac/tofu-controller#250", "the lock of a pod that is gone stays for days", []string{"runner/lock.TestKilledRun", "runner/launch.TestPassLocks", "TestForceUnlock"}},
	{3, "flux-iac/tofu-controller#1190", "a declared force-unlock does nothing and says nothing", []string{"TestForceUnlock"}},
	{5, "flux-iac/tofu-controller#773", "an object that is made anew does not own its old lock", []string{"runner/state/chunks.TestAdopt", "runner/state/chunks.TestAdoptHeldLock"}},
	{6, "opentofu/opentofu#2997", "age is taken for a reason", []string{"runner/lock.TestJudge", "runner/lock.TestCheckLive"}},
	{7, "padok-team/burrito#238", "a release fails when the lock is gone already", []string{"runner/lock.TestRelease", "runner/lease.TestLeave", "runner/state/chunks.TestDelete", "runner/lock.TestReleaseLive"}},
	{10, "appvia/terranetes-controller#55", "locking was switched off", []string{"TestTwoAppliesAtOnce", "TestLockWait"}},
	{12, "hashicorp/terraform#28693", "a stale plan leaves its lock", []string{"TestStalePlan", "TestKilledChild"}},
	{13, "Ferlab-Ste-Justine/cqdg-project#255", "an old run holds the lock for days", []string{"TestDeadlineAndLock"}},
	{14, "opentofu/opentofu#3798", "a cancelled run does not know its lock", []string{"TestKilledChild", "TestHungCluster"}},
	// B. Signals
	{15, "flux-iac/tofu-controller#481", "a child is killed at once, whatever its grace period", []string{"TestSignalDrains", "TestSignalLongDrain"}},
	{16, "flux-iac/tofu-controller#531", "a signal is not passed on", []string{"TestSignalDrains", "TestSignalIsObeyed"}},
	{18, "crossplane-contrib/provider-terraform#225", "the wrapper ends before its child", []string{"TestSignalDrains", "TestSignalFromTerminal"}},
	{19, "gardener/gardener-extension-provider-aws#120", "SIGKILL at the end of the grace period, and nothing is stored", []string{"TestLadder", "TestRescueInsideBudget", "TestHungStateServer"}},
	{20, "gardener-attic/gardener-extensions#426", "a second pod overwrites the state of the first", []string{"TestSignalAndSecondRun"}},
	{21, "runatlantis/atlantis#1482", "an idle run uses up the grace period", []string{"TestSignalWhileIdle"}},
	{22, "kinvolk/lokomotive#560", "an interrupt in init is ignored", []string{"TestSignalInInit"}},
	{24, "mattrobinsonsre/terrapod#430", "a killed run reads as one without changes", []string{"TestKilledBetweenSteps", "TestKilledRunner", "runner/result.TestOpenEmptiesAnOldResult"}},
	{25, "vendor's support article", "repeated cancels hang the agent", []string{"TestSignalDrains", "TestSignalsToTheEnd"}},
	{26, "hashicorp/hcp-terraform-operator#372", "a fixed grace period", []string{"TestSignalWhileIdle", "TestLadder", "runner/runtime.TestLadder"}},
	// C. State that could not be saved
	{28, "hashicorp/terraform#24294", "a recovery push is refused because it is not locked", []string{"TestRescueByPush", "runner/statesrv.TestProtocol"}},
	{30, "opentofu/opentofu#1710", "an empty state is written", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestRuntimeAppliesAfterARestore", "TestWrongPassphrase"}},
	{31, "appvia/terranetes-controller#1380", "a failing plan replaces the state", []string{"TestFailureLeavesStateAlone"}},
	// D. The kubernetes backend
	{32, "hashicorp/terraform#33995", "a suffix that ends in a number", []string{"runner/state.TestSuffixThatEndsInANumber"}},
	{34, "flux-iac/tofu-controller#1774", "changed labels give an empty state", []string{"TestChangedLabels", "runner/state/chunks.TestChangedLabels"}},
	{35, "hashicorp/terraform#33949", "a state without its labels is not found", []string{"runner/state/chunks.TestChangedLabels", "runner/state/chunks.TestHiddenPart"}},
	{36, "GalleyBytes/terraform-operator#72", "the namespace is default", []string{"TestNamespaceOfThePod", "TestInCluster"}},
	{37, "kubevela/terraform-controller#17", "no right to Leases", []string{"TestForbidden"}},
	{39, "hashicorp/terraform#21830", "maps in -backend-config are torn", []string{"TestBackendConfigQuoting"}},
	{40, "flux-iac/tofu-controller#271", "a plan does not fit into a Secret", []string{"TestLargePlan"}},
	{41, "kubevela/terraform-controller#266", "a conflict is a permanent error", []string{"runner/state/chunks.TestAdoptBetween", "runner/state/chunks.TestAdoptUnderWriters", "runner/lock.TestRelease", "runner/lock.TestReleaseLive"}},
	// E. force-unlock
	{42, "hashicorp/terraform#17328", "a lock ID must be a number", []string{"TestForceUnlockByNumber"}},
	{43, "hashicorp/terraform#23846", "a local state cannot be unlocked", []string{"TestForceUnlockOnLocalBackend"}},
	{44, "opentofu/opentofu#2132", "no lock info to read", []string{"TestForceUnlockOnBucket"}},
	{46, "hashicorp/terraform#19296", "an unlock fails and no ID is shown", []string{"TestUnlockRefused"}},
	{47, "cloudposse/atmos#800", "what comes before force-unlock needs the lock", []string{"TestForceUnlock"}},
	{48, "leg100/otf#334", "a lock whose holder nobody sees", []string{"runner/statesrv.TestProtocol", "runner/statesrv/cli.TestScripts"}},
	// F. Environment
	{49, "hashicorp/terraform#26127", "TF_WORKSPACE picks another state", []string{"TestHostileEnvironment"}},
	{51, "upbound/provider-terraform#40", "workspaces not supported", []string{"TestHostileEnvironment"}},
	{52, "hashicorp/terraform#17094", "TF_CLI_ARGS breaks helper commands", []string{"TestHostileEnvironment"}},
	{53, "flux-iac/tofu-controller#1297", "a run is refused for a variable", []string{"TestHostileEnvironment"}},
	{54, "hashicorp/terraform#23064", "TF_DATA_DIR splits the steps", []string{"TestHostileEnvironment"}},
	// G. Lock waiting
	{55, "hashicorp/terraform#31256", "-lock-timeout is ignored", []string{"TestLockWait", "runner/statesrv.TestRuntimeWaitsForTheLock", "e2e/stores.TestCommands"}},
	{56, "opentofu/opentofu#2004", "a refusal shows the caller's own lock", []string{"runner/statesrv.TestRuntimeWaitsForTheLock", "runner/statesrv.TestLockInfoComesBackAsItWasSent"}},
	{57, "hashicorp/terraform#27670", "a backend ignores -lock-timeout", []string{"TestLockTimeoutIgnored", "TestLockWithoutInfo"}},
	{58, "hashicorp/terraform-exec#506", "init does not wait", []string{"TestInitWaits"}},
	// H. init
	{59, "hashicorp/terraform#31341", "a registry that flakes fails the run", []string{"TestInitIsRepeated", "TestRegistryDecidesAboutRetries", "TestOnlyInitIsRepeated"}},
	{60, "hashicorp/terraform#31964", "a shared cache is busy or torn", []string{"TestManyRunsOnOneMirror", "TestBusyBinary"}},
	{62, "hashicorp/terraform#32099", "a reused directory has another backend", []string{"TestReusedDirectory"}},
	// I. Results
	{64, "kubevela/terraform-controller#383", "a failure is known by its colour", []string{"TestColourDecidesNothing", "TestLockInfoIsPrintable", "TestColourOfProvider"}},
	{65, "operator-framework/operator-controller#2169", "a long message keeps the status from being written", []string{"runner/state.TestReadableBounded", "runner/state/chunks.TestConditionFits"}},
	{66, "flux-iac/tofu-controller#239", "sensitive outputs are printed", []string{"TestSensitiveValues", "TestNoSecretIsShown"}},
	{68, "gruntwork-io/terragrunt#1470", "exit 2 is a failure", []string{"TestPlanWithChangesSucceeds"}},
	{69, "kubevela/terraform-controller#361", "a permanent error is tried for ever", []string{"TestExitCodes"}},
	{70, "appvia/terranetes-controller#1295", "a retry is taken for the failure before it", []string{"runner/state.TestRetryNonce", "runner/launch.TestDecide", "runner/launch.TestPassRetries"}},
	// J. The state server
	{71, "nimbolus/terraform-backend#7", "a state is taken with a wrong lock ID, or none", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestMayWrite", "e2e/stores.TestRobbedApply"}},
	{72, "gitlab-org/gitlab#344085", "a conflict is a 500", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestOneOfManyWritesASerial", "e2e/stores.TestTwoServers"}},
	{74, "gitlab-org/gitlab#356798", "a LOCK without a body is a 500", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestParseLockInfo"}},
	{76, "hashicorp/terraform#32731", "201 and 204 are errors for the client", []string{"runner/statesrv.TestProtocol", "e2e/stores.TestCommands"}},
	{77, "volvo-cars/terraform-vault-backend#8", "LOCK and UNLOCK do not pass", []string{"runner/statesrv.TestProtocol", "e2e/stores.TestCommands"}},
	{79, "hashicorp/terraform#32614", "a stale plan over serial 0", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestFollows"}},
	{80, "hashicorp/terraform#7026", "an unrelated state over an existing one", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestFollows", "e2e/stores.TestCommands"}},
	{82, "opentofu/opentofu#2218", "one state's lock blocks another", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestManyNewStates"}},
	{83, "hashicorp/terraform#16630", "a lost answer locks its own client out", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestLostAnswers"}},
	{84, "hashicorp/terraform#19619", "a fault that passes ends the run", []string{"runner/statesrv.TestFaultsOfTheStore", "runner/statesrv.TestFullDisk"}},
	{85, "webhippie/terrastate#16", "an unknown state is 200 and text", []string{"runner/statesrv.TestProtocol"}},
	{86, "hashicorp/terraform#36155", "an unlock overtakes an upload", []string{"runner/statesrv.TestUnlockWaitsForTheUpload"}},
	// K. What was seen in the code of others, which has no numbers
	{0, "other servers", "two names are joined to one", []string{"runner/statesrv.TestProtocol"}},
	{0, "other servers", "a lock is passed over, or freed by anybody", []string{"runner/statesrv.TestProtocol", "runner/statesrv.TestMayWrite", "runner/statesrv.TestMayUnlock"}},
	{0, "other servers", "a lock expires during an apply", []string{"runner/statesrv.TestLocksDoNotExpire"}},
	{0, "other wrappers", "a long line hides what comes after it", []string{"TestLongLine", "runner/runtime.TestLines"}},
	{0, "other wrappers", "parts of a state and its lock outlive it", []string{"runner/state/chunks.TestDelete", "runner/state/chunks.TestDeleteRefuses"}},
	{0, "other wrappers", "a fixed wait after an interrupt", []string{"TestSignalLongDrain"}},
}

// TestCasesHaveTests fails for a case whose test is gone.
func TestCasesHaveTests(t *testing.T) {
	root := tools.Root(t)
	tests := map[string]map[string]bool{} // by folder
	last := 0
	for _, c := range cases {
		if c.row <= last && c.row != 0 || c.says == "" || c.source == "" || len(c.tests) == 0 {
			t.Errorf("row %d: it is out of order, or something of it is missing", c.row)
		}
		last = c.row
		for _, name := range c.tests {
			dir, function, found := strings.Cut(name, ".")
			if !found {
				dir, function = "e2e", name
			}
			if tests[dir] == nil {
				tests[dir] = testFunctions(t, filepath.Join(root, dir))
			}
			if !tests[dir][function] {
				t.Errorf("row %d (%s): there is no %s in %s", c.row, c.says, function, dir)
			}
		}
	}
}

// testFunctions are the names of the tests in a folder.
func testFunctions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
