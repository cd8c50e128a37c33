package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// file is the resource probe_file: one file on disk.
//
// A create, update or delete waits for the delay first, then fails if it is told to, then touches
// the file, and last writes the ledger: so a call that ends early has changed nothing. A create
// overwrites a file that is there.
//
// Read and delete take their arguments from the state: to fail or to be slow, the argument must have
// been applied before.
type file struct{}

type fileModel struct {
	ID       types.String `tfsdk:"id"`
	Path     types.String `tfsdk:"path"`
	Content  types.String `tfsdk:"content"`
	Secret   types.String `tfsdk:"secret"`
	Delay    types.String `tfsdk:"delay"`
	Stubborn types.Bool   `tfsdk:"stubborn"`
	Fail     types.String `tfsdk:"fail"`
	FailText types.String `tfsdk:"fail_text"`
}

var _ resource.ResourceWithModifyPlan = file{}
var _ resource.ResourceWithValidateConfig = file{}

func (file) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "probe_file"
}

func (file) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	optional := func(text string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Description: text}
	}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed: true, Description: "the path",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"path": schema.StringAttribute{
			Required: true, Description: "the file; its folder must be there; another path makes another file",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		},
		"content": optional("the file's text; it is in the state as it is, so a large one makes a large state"),
		"secret": schema.StringAttribute{
			Optional: true, Sensitive: true, Description: "in the state only, never in the file",
		},
		"delay": optional("how long create, update and delete wait before they touch the file, such as 10s"),
		"stubborn": schema.BoolAttribute{
			Optional: true, Description: "wait out the delay even when asked to stop, and then touch the file",
		},
		"fail":      optional("the call that returns an error: create, update, delete, read or plan"),
		"fail_text": optional("the error's detail; without it, a text that holds content and secret"),
	}}
}

func (file) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var model fileModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if _, err := model.delay(); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("delay"), "Not a duration", err.Error())
	}
	calls := []string{"", "create", "update", "delete", "read", "plan"}
	if !slices.Contains(calls, model.Fail.ValueString()) {
		resp.Diagnostics.AddAttributeError(path.Root("fail"), "Not a call that can fail", fmt.Sprintf("use one of %q", calls[1:]))
	}
}

// delay is 0 when the argument is absent or not known yet.
func (m fileModel) delay() (time.Duration, error) {
	return time.ParseDuration(cmp.Or(m.Delay.ValueString(), "0s"))
}

// failure is the error that this call must return, if it is the one that must fail.
func (m fileModel) failure(call string) (diags diag.Diagnostics) {
	if m.Fail.ValueString() != call {
		return nil
	}
	detail := fmt.Sprintf("content %q and secret %q were refused", m.Content.ValueString(), m.Secret.ValueString())
	if !m.FailText.IsNull() {
		detail = m.FailText.ValueString()
	}
	diags.AddError("The probe was told to fail on "+call, detail)
	return diags
}

// wait lasts for the gate and the delay, or until ctx ends (a stop request ends it) unless the file is stubborn.
func (m fileModel) wait(ctx context.Context, call string) (diags diag.Diagnostics) {
	delay, err := m.delay()
	if err != nil {
		diags.AddError("Not a duration", err.Error())
		return diags
	}
	if m.Stubborn.ValueBool() {
		ctx = context.WithoutCancel(ctx)
	}
	err = hold(ctx, "before-"+call, m.Path.ValueString())
	if err == nil {
		err = sleep(ctx, delay)
	}
	if err != nil {
		diags.AddError("The "+call+" was stopped", "the file was not touched: "+err.Error())
	}
	return diags
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
